package postgres

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/primary"
)

func TestTheOutcomeOfAnErrorDecidesItsKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want petstore.Kind
	}{
		{&primary.Error{Outcome: primary.NotExecuted, Err: io.EOF}, petstore.Unavailable},
		{&primary.Error{Outcome: primary.MaybeExecuted, Err: io.EOF}, petstore.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, petstore.Unavailable},
		{io.EOF, petstore.Internal},
		{errors.New("a warning"), petstore.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "42P01"}, petstore.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "22021"}, petstore.Invalid},
		{primary.ErrClosed, petstore.Unavailable},
		{primary.ErrGaveUp, petstore.Unavailable},
		{&primary.Error{Outcome: primary.MaybeExecuted, Err: primary.ErrGaveUp}, petstore.Internal},
	} {
		if got := petstore.KindOf(translate(c.err)); got != c.want {
			t.Errorf("%v: got kind %v, want %v", c.err, got, c.want)
		}
	}
	if err := translate(nil); err != nil {
		t.Errorf("no error: got %v, want none", err)
	}
}
