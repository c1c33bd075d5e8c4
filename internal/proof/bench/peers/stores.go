package peers

import (
	"context"
	"database/sql"
	"sync"

	_ "modernc.org/sqlite" // the driver of database/sql
)

// memory keeps pets in a slice. The pet with the identifier i is at index i-1.
type memory struct {
	mu   sync.RWMutex
	pets []Pet
}

func (m *memory) create(_ context.Context, p Pet) (Pet, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.ID = int64(len(m.pets)) + 1
	m.pets = append(m.pets, p)
	return p, nil
}

func (m *memory) get(_ context.Context, id int64) (Pet, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if id < 1 || id > int64(len(m.pets)) {
		return Pet{}, errNoPet
	}
	return m.pets[id-1], nil
}

func (m *memory) list(_ context.Context, status string, after int64, limit int) ([]Pet, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]Pet, 0, limit)
	for i := int(after); i < len(m.pets) && len(out) < limit; i++ {
		if status == "" || m.pets[i].Status == status {
			out = append(out, m.pets[i])
		}
	}
	return out, nil
}

// sqlite keeps pets in a file. One connection writes, others read, with prepared
// statements.
type sqlite struct {
	write                        *sql.DB
	insert, byID, page, byStatus *sql.Stmt
}

func openSQLite(path string) *sqlite {
	const settings = "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	write, read := must(sql.Open("sqlite", "file:"+path+settings)), must(sql.Open("sqlite", "file:"+path+settings))
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)
	must(write.Exec(`
CREATE TABLE pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
CREATE INDEX pets_status ON pets (status, id);`))
	return &sqlite{
		write:    write,
		insert:   must(write.Prepare(`INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)`)),
		byID:     must(read.Prepare(`SELECT id, name, category_id, status FROM pets WHERE id = ?`)),
		page:     must(read.Prepare(`SELECT id, name, category_id, status FROM pets WHERE id > ? ORDER BY id LIMIT ?`)),
		byStatus: must(read.Prepare(`SELECT id, name, category_id, status FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`)),
	}
}

// query runs a statement that selects up to limit pets.
func query(ctx context.Context, limit int, stmt *sql.Stmt, args ...any) ([]Pet, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]Pet, 0, limit)
	for rows.Next() {
		var p Pet
		if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

func (s *sqlite) create(ctx context.Context, p Pet) (Pet, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return Pet{}, err
	}
	defer tx.Rollback()
	r, err := tx.StmtContext(ctx, s.insert).ExecContext(ctx, p.Name, p.CategoryID, p.Status)
	if err != nil {
		return Pet{}, err
	}
	if p.ID, err = r.LastInsertId(); err != nil {
		return Pet{}, err
	}
	return p, tx.Commit()
}

func (s *sqlite) get(ctx context.Context, id int64) (Pet, error) {
	pets, err := query(ctx, 1, s.byID, id)
	if err != nil {
		return Pet{}, err
	}
	if len(pets) == 0 {
		return Pet{}, errNoPet
	}
	return pets[0], nil
}

func (s *sqlite) list(ctx context.Context, status string, after int64, limit int) ([]Pet, error) {
	if status == "" {
		return query(ctx, limit, s.page, after, limit)
	}
	return query(ctx, limit, s.byStatus, status, after, limit)
}
