package postgres

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres/primary"
)

func TestTheOutcomeOfAnErrorDecidesItsKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want pets.Kind
	}{
		{&primary.Error{Outcome: primary.NotExecuted, Err: io.EOF}, pets.Unavailable},
		{&primary.Error{Outcome: primary.MaybeExecuted, Err: io.EOF}, pets.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, pets.Unavailable},
		{io.EOF, pets.Internal},
		{errors.New("a warning"), pets.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "42P01"}, pets.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "22021"}, pets.Invalid},
		{primary.ErrClosed, pets.Unavailable},
		{primary.ErrGaveUp, pets.Unavailable},
		{&primary.Error{Outcome: primary.MaybeExecuted, Err: primary.ErrGaveUp}, pets.Internal},
	} {
		if got := pets.KindOf(translate(c.err)); got != c.want {
			t.Errorf("%v: got kind %v, want %v", c.err, got, c.want)
		}
	}
	if err := translate(nil); err != nil {
		t.Errorf("no error: got %v, want none", err)
	}
}
