package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"example.com/petstore/engine/db/sqlite"
)

//go:embed migrations
var migrations embed.FS

func migrationsOf(kind string) fs.FS {
	files, _ := fs.Sub(migrations, "migrations/"+kind) // fails only if the name is invalid
	return files
}

var sqliteSchema = sqlite.Schema{Migrations: migrationsOf("sqlite"), Tables: []string{"patients", "visits"}}

const (
	patientColumns = "id, name, species, balance, allergies"
	visitColumns   = "id, day, reason, note"

	// pageAfter selects, in the order $4, $3 patients after the one with the ID $1 and the name last.
	pageAfter = `CASE $4 WHEN 'name' THEN last IS NULL OR (name, id) > (last, $1)
		WHEN '-name' THEN last IS NULL OR name < last OR name = last AND id > $1 ELSE id > $1 END
		ORDER BY CASE $4 WHEN 'name' THEN name END, CASE $4 WHEN '-name' THEN name END DESC, id LIMIT $3`
)

var (
	insertPatient  = sqliteSchema.Statement("INSERT INTO patients (" + patientColumns + ") VALUES (nullif(?, 0), ?, ?, ?, ?)")
	selectPatient  = sqliteSchema.Statement("SELECT " + patientColumns + ", removed FROM patients WHERE id = ?")
	selectPatients = sqliteSchema.Statement("SELECT " + patientColumns + ` FROM patients
		LEFT JOIN (SELECT name AS last FROM patients WHERE id = ?1) before ON true WHERE NOT removed
		AND (?2 = 'null' OR species IN (SELECT value FROM json_each(?2))) AND ` + strings.ReplaceAll(pageAfter, "$", "?"))
	removePatient = sqliteSchema.Statement("UPDATE patients SET removed = 1 WHERE id = ?")
	addBalance    = sqliteSchema.Statement("UPDATE patients SET balance = balance + ? WHERE id = ?")

	insertVisit = sqliteSchema.Statement("INSERT INTO visits (patient_id, " + visitColumns + ") VALUES (?, nullif(?, 0), ?, ?, ?)")
	selectVisit = sqliteSchema.Statement("SELECT " + visitColumns + " FROM visits WHERE patient_id = ? AND id = ?")
	updateVisit = sqliteSchema.Statement("UPDATE visits SET (day, reason, note) = (?2, ?3, ?4) WHERE id = ?1")
	deleteVisit = sqliteSchema.Statement("DELETE FROM visits WHERE patient_id = ? AND id = ?")

	hasVisits     = sqliteSchema.Statement("SELECT EXISTS (SELECT 1 FROM visits WHERE patient_id = ?)")
	hasOtherVisit = sqliteSchema.Statement("SELECT EXISTS (SELECT 1 FROM visits WHERE patient_id = ? AND day = ? AND id <> ?)")
)

// sqliteStore is a Store in an SQLite file. One writer runs at a time and shares its transaction
// with other requests. So a change reads first, returns what is wrong, and only then writes.
type sqliteStore struct{ *sqlite.DB }

// inJSON keeps the value of a pointer as JSON in a column.
type inJSON struct{ value any }

func (j inJSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	return string(text), err
}

func (j inJSON) Scan(text any) error { return json.Unmarshal([]byte(text.(string)), j.value) }

// patientFields returns pointers to the values of patientColumns, to scan into and as arguments.
func patientFields(p *Patient) []any {
	return []any{&p.ID, &p.Name, &p.Species, &p.Balance, inJSON{&p.Allergies}}
}

func visitFields(v *Visit) []any { return []any{&v.ID, &v.Day, &v.Reason, &v.Note} }

func patientOf(conn sqlite.Conn, id int64) (p Patient, err error) {
	var removed bool
	err = conn.Stmt(selectPatient).QueryRow(id).Scan(append(patientFields(&p), &removed)...)
	return p, explainPatient(err, removed)
}

// explainPatient returns the error of selecting a patient.
func explainPatient(err error, removed bool) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoPatient
	case removed:
		return ErrRemoved
	}
	return err
}

func visitOf(conn sqlite.Conn, patientID, id int64) (v Visit, err error) {
	err = conn.Stmt(selectVisit).QueryRow(patientID, id).Scan(visitFields(&v)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoVisit
	}
	return v, err
}

// checkNone returns wrong if the statement selects true.
func checkNone(conn sqlite.Conn, wrong error, exists sqlite.Statement, args ...any) error {
	found := false
	if err := conn.Stmt(exists).QueryRow(args...).Scan(&found); err != nil {
		return err
	}
	if found {
		return wrong
	}
	return nil
}

func (s *sqliteStore) CreatePatient(ctx context.Context, p NewPatient) (made Patient, err error) {
	err = s.Write(ctx, func(conn sqlite.Conn) error {
		made = Patient{NewPatient: p}
		result, err := conn.Stmt(insertPatient).Exec(patientFields(&made)...)
		if err != nil {
			return err
		}
		made.ID, err = result.LastInsertId()
		return err
	})
	return made, err
}

func (s *sqliteStore) Patient(ctx context.Context, id int64) (p Patient, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error { p, err = patientOf(conn, id); return err })
	return p, err
}

func (s *sqliteStore) Patients(ctx context.Context, q Query) (page []Patient, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		rows, err := conn.Stmt(selectPatients).Query(q.After, inJSON{q.Species}, q.Limit, q.Sort)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var p Patient
			if err := rows.Scan(patientFields(&p)...); err != nil {
				return err
			}
			page = append(page, p)
		}
		return rows.Err()
	})
	return page, err
}

func (s *sqliteStore) RemovePatient(ctx context.Context, id int64) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		if _, err := patientOf(conn, id); err != nil {
			return err
		}
		if err := checkNone(conn, ErrHasVisits, hasVisits, id); err != nil {
			return err
		}
		_, err := conn.Stmt(removePatient).Exec(id)
		return err
	})
}

func (s *sqliteStore) Transfer(ctx context.Context, t Transfer) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		from, err := patientOf(conn, t.From)
		if err != nil {
			return err
		}
		to, err := patientOf(conn, t.To)
		if err != nil {
			return err
		}
		if err := t.check(from, to); err != nil {
			return err
		}
		if _, err := conn.Stmt(addBalance).Exec(-t.Cents, t.From); err != nil {
			return err
		}
		_, err = conn.Stmt(addBalance).Exec(t.Cents, t.To)
		return err
	})
}

func (s *sqliteStore) CreateVisit(ctx context.Context, patientID int64, v NewVisit) (made Visit, err error) {
	err = s.Write(ctx, func(conn sqlite.Conn) error {
		made = Visit{NewVisit: v}
		if _, err := patientOf(conn, patientID); err != nil {
			return err
		}
		if err := checkNone(conn, ErrSecondVisit, hasOtherVisit, patientID, v.Day, 0); err != nil {
			return err
		}
		result, err := conn.Stmt(insertVisit).Exec(append([]any{patientID}, visitFields(&made)...)...)
		if err != nil {
			return err
		}
		made.ID, err = result.LastInsertId()
		return err
	})
	return made, err
}

func (s *sqliteStore) Visit(ctx context.Context, patientID, id int64) (v Visit, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error { v, err = visitOf(conn, patientID, id); return err })
	return v, err
}

func (s *sqliteStore) ChangeVisit(
	ctx context.Context, patientID, id int64, change func(*Visit) error,
) (v Visit, err error) {
	err = s.Write(ctx, func(conn sqlite.Conn) (err error) {
		if v, err = visitOf(conn, patientID, id); err != nil {
			return err
		}
		if err := change(&v); err != nil {
			return err
		}
		if err := checkNone(conn, ErrSecondVisit, hasOtherVisit, patientID, v.Day, id); err != nil {
			return err
		}
		_, err = conn.Stmt(updateVisit).Exec(visitFields(&v)...)
		return err
	})
	return v, err
}

func (s *sqliteStore) RemoveVisit(ctx context.Context, patientID, id int64) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		if _, err := visitOf(conn, patientID, id); err != nil {
			return err
		}
		_, err := conn.Stmt(deleteVisit).Exec(patientID, id)
		return err
	})
}
