package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

// translate makes an error of the domain of one that ended a statement.
func translate(err error) error {
	if err == nil {
		return nil
	}
	switch primary.OutcomeOf(err) {
	case primary.NotExecuted:
		switch {
		case errors.Is(err, primary.ErrClosed):
			return pets.ErrClosed
		case errors.Is(err, primary.ErrGaveUp):
			return pets.ErrGaveUp
		}
		return unavailable("the database is unavailable", err)
	case primary.BadInput:
		return &pets.Error{Kind: pets.Invalid, Message: "the database does not accept a value", Err: err}
	case primary.NeedsOperator:
		return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
	default:
		return &pets.Error{Kind: pets.Internal, Message: "the database has not said whether it stored the write", Err: err}
	}
}

func unavailable(message string, cause error) error {
	return &pets.Error{Kind: pets.Unavailable, Message: message, Err: cause}
}

// isNoRows reports whether a statement had no row, and not another error.
func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// Redact returns the address without passwords. Where it could be mistaken about
// the password, it shows nothing.
func Redact(address string) string { return primary.Redact(address) }

// oneLine joins the lines of an error, each once: pgx has a line for every way to
// connect that it tried.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(strings.Replace(err.Error(), "`: ", "`:\n", 1)) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// dialWords are pgx's and Go's words between a host and the reason that it cannot be
// reached. They name the host twice more.
var dialWords = regexp.MustCompile(` \([^)]*\): dial error: dial \w+ \S+: (connect: )?`)

// explainOpen makes one sentence for the operator of an error of Open.
func explainOpen(address string, err error) error {
	where := Redact(address)
	reason := oneLine(err)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "28P01", "28000":
			return fmt.Errorf("cannot open %s: the server refuses the user or the password", where)
		case "3D000":
			return fmt.Errorf("cannot open %s: there is no such database; create it with createdb -E UTF8", where)
		case "42501":
			return fmt.Errorf("cannot open %s: the user lacks a right (%s); make it the owner of the database", where, pg.Message)
		case "42704", "22023":
			return fmt.Errorf("cannot open %s: the server takes a parameter of the address for one of its own, and refuses it: %s", where, pg.Message)
		case "53300":
			return fmt.Errorf("cannot open %s: the server has no connection left; raise its max_connections or lower pool_max_conns", where)
		}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		_, dials, _ := strings.Cut(reason, "; ") // without pgx's own introduction
		return fmt.Errorf("cannot open %s: no writable primary can be reached: %s", where, dialWords.ReplaceAllString(dials, ": "))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot open %s: the server did not respond in time", where)
	}
	return fmt.Errorf("cannot open %s: %s", where, reason)
}
