package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
)

// forgetting is a store that has batches of idempotency keys to forget, or fails.
type forgetting struct {
	store.Store
	batches int
	err     error
	age     time.Duration // of the keys to forget
}

func (f *forgetting) ForgetIdempotencyKeys(_ context.Context, before time.Time) (int, error) {
	f.age = time.Since(before)
	if f.err != nil || f.batches == 0 {
		return 0, f.err
	}
	f.batches--
	return 1000, nil
}

func TestForgetIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, log := &forgetting{Store: memory.New()}, &bytes.Buffer{}
		go store.ForgetIdempotencyKeys(ctx, s, slog.New(slog.NewTextHandler(log, nil)))
		for _, step := range []struct {
			wait     time.Duration
			err      error
			warnings int
		}{
			{10 * time.Second, nil, 0},
			{time.Hour, errors.New("no privilege"), 1},
			{24 * time.Hour, errors.New("no privilege"), 1},
			{time.Hour, nil, 1},
			{time.Hour, errors.New("no connection"), 2},
		} {
			s.batches, s.err = 3, step.err
			time.Sleep(step.wait)
			synctest.Wait()
			if got := strings.Count(log.String(), "level=WARN"); got != step.warnings || step.err == nil && s.batches > 0 {
				t.Errorf("after %v: got %d batches left and the log %s, want 0 and %d warnings", step, s.batches, log, step.warnings)
			}
		}
		if want := 7 * 24 * time.Hour; s.age != want {
			t.Errorf("age: got %v, want %v", s.age, want)
		}
		cancel()
	})
}
