package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/engine/db/postgres"
	"example.com/petstore/engine/fault"
)

var postgresSchema = postgres.Schema{Name: "clinic", Migrations: migrationsOf("postgres")}

const (
	pgSelectPatient = "SELECT " + patientColumns + ", removed FROM clinic.patients WHERE id = $1"
	pgSelectVisit   = "SELECT " + visitColumns + " FROM clinic.visits WHERE patient_id = $1 AND id = $2"
	forUpdate       = " FOR UPDATE"

	pgSelectPatients = "SELECT " + patientColumns + ` FROM clinic.patients
		LEFT JOIN (SELECT name AS last FROM clinic.patients WHERE id = $1) before ON true WHERE NOT removed
		AND ($2::text[] IS NULL OR species = ANY ($2)) AND ` + pageAfter
)

// postgresStore is a Store in a PostgreSQL database, to which others write at the same time. A
// change locks what it reads. It runs in WriteOnce, because a retry could find the change of the
// first attempt.
type postgresStore struct{ *postgres.DB }

// Failed implements Store. After a failure of the server, the store reconnects.
func (s *postgresStore) Failed() <-chan error { return nil }

// change runs f in a transaction.
func (s *postgresStore) change(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			err := f(ctx, tx)
			if fault.ByCaller(err) {
				return err
			}
			return postgres.NotCommitted(err)
		})
	})
}

// explainVisit returns the error of a constraint that a visit violates. The others are a 500.
func explainVisit(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.ConstraintName == "visits_patient_id_day_key" {
		return ErrSecondVisit
	}
	return err
}

// pgPatientFields is patientFields, but pgx converts a list to jsonb.
func pgPatientFields(p *Patient) []any {
	return []any{&p.ID, &p.Name, &p.Species, &p.Balance, &p.Allergies}
}

// rows is a connection or a transaction.
type rows interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func pgPatient(ctx context.Context, c rows, id int64, lock string) (p Patient, err error) {
	var removed bool
	err = c.QueryRow(ctx, pgSelectPatient+lock, id).Scan(append(pgPatientFields(&p), &removed)...)
	return p, explainPatient(err, removed) // pgx.ErrNoRows is sql.ErrNoRows, too
}

func pgVisit(ctx context.Context, c rows, patientID, id int64, lock string) (v Visit, err error) {
	err = c.QueryRow(ctx, pgSelectVisit+lock, patientID, id).Scan(visitFields(&v)...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNoVisit
	}
	return v, err
}

func (s *postgresStore) CreatePatient(ctx context.Context, p NewPatient) (Patient, error) {
	made := Patient{NewPatient: p}
	err := s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		const insert = "INSERT INTO clinic.patients (name, species, balance, allergies) VALUES ($1, $2, $3, $4) RETURNING id"
		return c.QueryRow(ctx, insert, pgPatientFields(&made)[1:]...).Scan(&made.ID)
	})
	return made, err
}

func (s *postgresStore) Patient(ctx context.Context, id int64) (p Patient, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error { p, err = pgPatient(ctx, c, id, ""); return err })
	return p, err
}

func (s *postgresStore) Patients(ctx context.Context, q Query) (page []Patient, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, _ := c.Query(ctx, pgSelectPatients, q.After, q.Species, q.Limit, q.Sort) // CollectRows returns the error
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Patient, err error) {
			return p, row.Scan(pgPatientFields(&p)...)
		})
		return err
	})
	return page, err
}

func (s *postgresStore) RemovePatient(ctx context.Context, id int64) error {
	return s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := pgPatient(ctx, tx, id, forUpdate); err != nil {
			return err
		}
		const remove = `UPDATE clinic.patients SET removed = true
			WHERE id = $1 AND NOT EXISTS (SELECT FROM clinic.visits WHERE patient_id = $1)`
		tag, err := tx.Exec(ctx, remove, id)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrHasVisits
		}
		return err
	})
}

// Transfer implements Store. It locks the rows in the order of their IDs, so that two transfers
// cannot wait for each other.
func (s *postgresStore) Transfer(ctx context.Context, t Transfer) error {
	return s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		patients := map[int64]Patient{}
		for _, id := range []int64{min(t.From, t.To), max(t.From, t.To)} {
			p, err := pgPatient(ctx, tx, id, forUpdate)
			if err != nil {
				return err
			}
			patients[id] = p
		}
		if err := t.check(patients[t.From], patients[t.To]); err != nil {
			return err
		}
		const add = "UPDATE clinic.patients SET balance = balance + $2 WHERE id = $1"
		if _, err := tx.Exec(ctx, add, t.From, -t.Cents); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, add, t.To, t.Cents)
		return err
	})
}

func (s *postgresStore) CreateVisit(ctx context.Context, patientID int64, v NewVisit) (Visit, error) {
	made := Visit{NewVisit: v}
	err := s.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := pgPatient(ctx, tx, patientID, forUpdate); err != nil { // it must not be removed meanwhile
			return err
		}
		const insert = "INSERT INTO clinic.visits (patient_id, day, reason, note) VALUES ($1, $2, $3, $4) RETURNING id"
		return explainVisit(tx.QueryRow(ctx, insert, patientID, v.Day, v.Reason, v.Note).Scan(&made.ID))
	})
	return made, err
}

func (s *postgresStore) Visit(ctx context.Context, patientID, id int64) (v Visit, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		v, err = pgVisit(ctx, c, patientID, id, "")
		return err
	})
	return v, err
}

func (s *postgresStore) ChangeVisit(
	ctx context.Context, patientID, id int64, change func(*Visit) error,
) (v Visit, err error) {
	err = s.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if v, err = pgVisit(ctx, tx, patientID, id, forUpdate); err != nil {
			return err
		}
		if err := change(&v); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE clinic.visits SET (day, reason, note) = ($2, $3, $4) WHERE id = $1", visitFields(&v)...)
		return explainVisit(err)
	})
	return v, err
}

func (s *postgresStore) RemoveVisit(ctx context.Context, patientID, id int64) error {
	return s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, "DELETE FROM clinic.visits WHERE patient_id = $1 AND id = $2", patientID, id)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrNoVisit
		}
		return err
	})
}
