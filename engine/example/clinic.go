package main

import (
	"context"

	"example.com/petstore/engine/fault"
)

// Kinds of errors that package fault lacks.
var (
	Conflict           = fault.Kind{Code: "conflict", Status: 409}
	Gone               = fault.Kind{Code: "gone", Status: 410}
	PreconditionFailed = fault.Kind{Code: "precondition_failed", Status: 412}
)

// Errors of the operations.
var (
	ErrNoPatient    = fault.New(fault.NotFound, "there is no such patient")
	ErrNoVisit      = fault.New(fault.NotFound, "there is no such visit")
	ErrRemoved      = fault.New(Gone, "the patient was removed")
	ErrHasVisits    = fault.New(Conflict, "the patient has visits")
	ErrSecondVisit  = fault.New(Conflict, "the patient has another visit on that day")
	ErrBalance      = fault.New(Conflict, "the balance is too low, or would be too high")
	ErrVisitChanged = fault.New(PreconditionFailed, "the visit has been changed meanwhile")
)

// MaxBalance is the greatest balance, in cents, as in openapi.yaml.
const MaxBalance = 1_000_000_000

// NewPatient is what a client says about a patient.
type NewPatient struct {
	Name, Species string
	Balance       int64    // in cents
	Allergies     []string // nil if unknown, which differs from none
}

// Patient is a stored patient.
type Patient struct {
	ID int64
	NewPatient
}

// NewVisit is what a client says about a visit.
type NewVisit struct {
	Day    string // such as 2026-11-21
	Reason string
	Note   string // "" for none
}

// Visit is a stored visit.
type Visit struct {
	ID int64
	NewVisit
}

// Query selects a page of patients.
type Query struct {
	Species []string // nil for all
	Sort    string   // id, name or -name, and then by ID
	After   int64    // the last ID of the page before
	Limit   int
}

// Transfer moves cents from the balance of a patient to that of another.
type Transfer struct{ From, To, Cents int64 }

// check returns an error unless the balances allow the transfer.
func (t Transfer) check(from, to Patient) error {
	if from.Balance < t.Cents || to.Balance > MaxBalance-t.Cents {
		return ErrBalance
	}
	return nil
}

// Store keeps patients and their visits. The methods with the ID of a patient return ErrNoPatient
// or ErrRemoved if there is none, and those of one visit ErrNoVisit. Values have been validated.
type Store interface {
	CreatePatient(ctx context.Context, p NewPatient) (Patient, error)
	Patient(ctx context.Context, id int64) (Patient, error)

	// Patients returns the patients of a page. The one before the page may have been removed meanwhile.
	Patients(ctx context.Context, q Query) ([]Patient, error)

	// RemovePatient removes a patient, or returns ErrHasVisits.
	RemovePatient(ctx context.Context, id int64) error

	// Transfer changes both balances or, if it fails, none.
	Transfer(ctx context.Context, t Transfer) error

	// CreateVisit adds a visit, or returns ErrSecondVisit.
	CreateVisit(ctx context.Context, patientID int64, v NewVisit) (Visit, error)
	Visit(ctx context.Context, patientID, id int64) (Visit, error)

	// ChangeVisit stores what change makes of a visit, unless change fails. It may call change twice.
	ChangeVisit(ctx context.Context, patientID, id int64, change func(*Visit) error) (Visit, error)
	RemoveVisit(ctx context.Context, patientID, id int64) error

	Ping(ctx context.Context) error
	Failed() <-chan error // delivers an error if the process must end; may be nil
	Close() error
}
