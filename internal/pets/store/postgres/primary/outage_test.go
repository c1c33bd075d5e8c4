//go:build postgres

package primary

import (
	"errors"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// Without a breaker each call of an outage would wait for 3 s, and as many would
// wait as come in that time.
func TestInAnOutageCallsFailWithoutAnAttemptUntilTheServerIsBack(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	db := open(t, server.Address("postgres"))
	if err := db.Read(t.Context(), exec("SELECT")); err != nil {
		t.Fatalf("before: got error %v, want none", err)
	}
	server.Kill()
	pgtest.Eventually(t, time.Minute, "a call being refused by the breaker", func() bool {
		err := db.Read(t.Context(), exec("SELECT"))
		return errors.Is(err, errOpen) && OutcomeOf(err) == NotExecuted && db.State().BreakerOpen
	})
	server.Restart(t)
	pgtest.Eventually(t, time.Minute, "a call being executed", func() bool {
		return db.Read(t.Context(), exec("SELECT")) == nil && !db.State().BreakerOpen
	})
}
