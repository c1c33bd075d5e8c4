//go:build wrk && linux

package bench

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	_ "modernc.org/sqlite" // the driver of database/sql
)

// memory keeps pets in a slice. The pet with the identifier i is at index i-1.
type memory struct {
	mu   sync.RWMutex
	pets []pet
}

func (m *memory) create(_ context.Context, p pet) (pet, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.ID = int64(len(m.pets)) + 1
	m.pets = append(m.pets, p)
	return p, nil
}

func (m *memory) get(_ context.Context, id int64) (pet, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if id < 1 || id > int64(len(m.pets)) {
		return pet{}, errNoPet
	}
	return m.pets[id-1], nil
}

func (m *memory) list(_ context.Context, status string, after int64, limit int) ([]pet, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]pet, 0, limit)
	for i := int(after); i < len(m.pets) && len(out) < limit; i++ {
		if status == "" || m.pets[i].Status == status {
			out = append(out, m.pets[i])
		}
	}
	return out, nil
}

// sqlite keeps pets in a file. One connection writes, others read, with prepared
// statements.
type sqlite struct{ insert, byID, page, byStatus *sql.Stmt }

func openSQLite(path string) *sqlite {
	dsn := "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	write, read := must(sql.Open("sqlite", dsn)), must(sql.Open("sqlite", dsn))
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)
	must(write.Exec(`
CREATE TABLE pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
CREATE INDEX pets_status ON pets (status, id);`))
	const columns = "SELECT id, name, category_id, status FROM pets "
	return &sqlite{
		insert:   must(write.Prepare(`INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)`)),
		byID:     must(read.Prepare(columns + `WHERE id = ?`)),
		page:     must(read.Prepare(columns + `WHERE id > ? ORDER BY id LIMIT ?`)),
		byStatus: must(read.Prepare(columns + `WHERE status = ? AND id > ? ORDER BY id LIMIT ?`)),
	}
}

func (s *sqlite) create(ctx context.Context, p pet) (pet, error) {
	result, err := s.insert.ExecContext(ctx, p.Name, p.CategoryID, p.Status)
	if err != nil {
		return pet{}, err
	}
	p.ID, err = result.LastInsertId()
	return p, err
}

func (s *sqlite) get(ctx context.Context, id int64) (p pet, err error) {
	err = s.byID.QueryRowContext(ctx, id).Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoPet
	}
	return p, err
}

func (s *sqlite) list(ctx context.Context, status string, after int64, limit int) ([]pet, error) {
	stmt, args := s.page, []any{after, limit}
	if status != "" {
		stmt, args = s.byStatus, []any{status, after, limit}
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]pet, 0, limit)
	for rows.Next() {
		var p pet
		if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}
