package peers

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

const (
	insertPet    = `INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)`
	selectPet    = `SELECT id, name, category_id, status FROM pets WHERE id = ?`
	selectPets   = `SELECT id, name, category_id, status FROM pets WHERE id > ? ORDER BY id LIMIT ?`
	selectStatus = `SELECT id, name, category_id, status FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`
)

// sqlite keeps pets in a file. One connection writes, others read. It queries as
// the database/sql guide does, or with prepared statements.
type sqlite struct {
	write, read *sql.DB
	prepared    map[string]*sql.Stmt // by query
}

func openSQLite(path string, prepare bool) *sqlite {
	const settings = "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	write, read := must(sql.Open("sqlite", "file:"+path+settings)), must(sql.Open("sqlite", "file:"+path+settings))
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)
	must(write.Exec(`
CREATE TABLE pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
CREATE INDEX pets_status ON pets (status, id);`))
	s := &sqlite{write: write, read: read, prepared: map[string]*sql.Stmt{}}
	if prepare {
		s.prepared[insertPet] = must(write.Prepare(insertPet))
		for _, query := range []string{selectPet, selectPets, selectStatus} {
			s.prepared[query] = must(read.Prepare(query))
		}
	}
	return s
}

// query runs a query that selects up to limit pets.
func (s *sqlite) query(ctx context.Context, limit int, query string, args ...any) ([]Pet, error) {
	var rows *sql.Rows
	var err error
	if stmt := s.prepared[query]; stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = s.read.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scan(rows, limit)
}

func (s *sqlite) create(ctx context.Context, p Pet) (Pet, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return Pet{}, err
	}
	defer tx.Rollback()
	var r sql.Result
	if stmt := s.prepared[insertPet]; stmt != nil {
		r, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, p.Name, p.CategoryID, p.Status)
	} else {
		r, err = tx.ExecContext(ctx, insertPet, p.Name, p.CategoryID, p.Status)
	}
	if err != nil {
		return Pet{}, err
	}
	if p.ID, err = r.LastInsertId(); err != nil {
		return Pet{}, err
	}
	return p, tx.Commit()
}

func (s *sqlite) get(ctx context.Context, id int64) (Pet, error) {
	pets, err := s.query(ctx, 1, selectPet, id)
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
		return s.query(ctx, limit, selectPets, after, limit)
	}
	return s.query(ctx, limit, selectStatus, status, after, limit)
}

// scan reads pets from the rows of database/sql or pgx.
func scan(rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}, limit int,
) ([]Pet, error) {
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

// postgres keeps pets in a database, with one statement per operation.
type postgres struct{ *pgxpool.Pool }

func openPostgres(address string) postgres {
	ctx := context.Background()
	pool := must(pgxpool.New(ctx, address))
	must(pool.Exec(ctx, `
CREATE TABLE pets (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, category_id bigint NOT NULL, status text NOT NULL);
CREATE INDEX pets_status ON pets (status, id);`))
	return postgres{pool}
}

func (s postgres) create(ctx context.Context, p Pet) (Pet, error) {
	err := s.QueryRow(ctx, `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING id`, p.Name, p.CategoryID, p.Status).Scan(&p.ID)
	return p, err
}

func (s postgres) get(ctx context.Context, id int64) (p Pet, err error) {
	err = s.QueryRow(ctx, `SELECT id, name, category_id, status FROM pets WHERE id = $1`, id).Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, errNoPet
	}
	return p, err
}

func (s postgres) list(ctx context.Context, status string, after int64, limit int) ([]Pet, error) {
	query, args := `SELECT id, name, category_id, status FROM pets WHERE id > $1 ORDER BY id LIMIT $2`, []any{after, limit}
	if status != "" {
		query, args = `SELECT id, name, category_id, status FROM pets WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3`, []any{status, after, limit}
	}
	rows, err := s.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scan(rows, limit)
}
