package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/store"
)

// forgetting is a store that has a result for each batch, and then nothing to forget.
type forgetting struct {
	store.Store
	began   time.Time
	batches []error         // nil for a batch that was forgotten
	calls   []time.Duration // when they were made
}

var errNothing = errors.New("nothing to forget")

func (f *forgetting) ForgetIdempotencyKeys(_ context.Context, before time.Time) (int, error) {
	if time.Since(before) != 7*24*time.Hour {
		return 0, errors.New("not seven days")
	}
	f.calls = append(f.calls, time.Since(f.began).Round(10*time.Second))
	err := errNothing
	if len(f.batches) > 0 {
		err, f.batches = f.batches[0], f.batches[1:]
	}
	switch err {
	case nil:
		return 1000, nil
	case errNothing:
		return 0, nil
	}
	return 0, err
}

func TestForgetIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
		defer cancel()
		broken := errors.New("broken")
		s := &forgetting{began: time.Now(), batches: []error{nil, nil, errNothing, broken, broken, nil, errNothing, broken}}
		var log bytes.Buffer
		store.ForgetIdempotencyKeys(ctx, s, slog.New(slog.NewTextHandler(&log, nil)))
		const soon, hour = 10 * time.Second, time.Hour + 10*time.Second
		want := []time.Duration{soon, soon, soon, hour, hour + time.Hour, hour + 2*time.Hour, hour + 2*time.Hour, hour + 3*time.Hour}
		if !reflect.DeepEqual(s.calls, want) {
			t.Errorf("got calls at %v, want %v", s.calls, want)
		}
		if got := strings.Count(log.String(), "level=WARN"); got != 2 {
			t.Errorf("got %d warnings, want one for each series of failures: %s", got, &log)
		}
	})
}
