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
	results []int           // how many keys were forgotten; -1 is a failure
	calls   []time.Duration // when they were made
}

func (f *forgetting) ForgetIdempotencyKeys(_ context.Context, before time.Time) (n int, err error) {
	if time.Since(before) != 7*24*time.Hour {
		return 0, errors.New("not seven days")
	}
	f.calls = append(f.calls, time.Since(f.began).Round(10*time.Second))
	if len(f.results) > 0 {
		n, f.results = f.results[0], f.results[1:]
	}
	if n < 0 {
		return 0, errors.New("broken")
	}
	return n, nil
}

func TestForgetIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
		defer cancel()
		s := &forgetting{began: time.Now(), results: []int{1000, 1, 0, -1, -1, 1000, 0, -1}}
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
