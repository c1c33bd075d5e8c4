package pets_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/petstore/internal/pets"
)

func TestEveryKindIsListedAndHasANameOfItsOwn(t *testing.T) {
	want := map[pets.Kind]string{
		pets.Internal:    "internal",
		pets.Invalid:     "invalid",
		pets.NotFound:    "not found",
		pets.Reused:      "reused",
		pets.Unavailable: "unavailable",
	}
	kinds := pets.Kinds()
	for i, k := range kinds {
		if int(k) != i {
			t.Errorf("kind %d in the list: got %d, want them in order, without gaps", i, k)
		}
		if got := k.String(); got != want[k] {
			t.Errorf("kind %d: got name %q, want %q", k, got, want[k])
		}
	}
	if len(kinds) != len(want) {
		t.Errorf("got %d kinds, want %d", len(kinds), len(want))
	}
	// The next number is no kind: a kind added without Kinds would be named here.
	if next := pets.Kind(len(kinds)); next.String() != pets.Internal.String() {
		t.Errorf("kind %d: got name %q, want Kinds to list it", next, next)
	}
}

func TestTheKindOfAnErrorIsFoundThroughWrapping(t *testing.T) {
	for _, k := range pets.Kinds() {
		err := &pets.Error{Kind: k, Message: "it failed", Err: io.EOF}
		for how, wrapped := range map[string]error{
			"bare":          err,
			"wrapped":       fmt.Errorf("creating: %w", err),
			"twice":         fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)),
			"joined":        errors.Join(io.ErrClosedPipe, err),
			"one of two %w": fmt.Errorf("%w and %w", io.ErrClosedPipe, err),
		} {
			if got := pets.KindOf(wrapped); got != k {
				t.Errorf("%s: got kind %v, want %v", how, got, k)
			}
			if !errors.Is(wrapped, io.EOF) {
				t.Errorf("%s: got the cause lost, want it found by errors.Is", how)
			}
		}
	}
	outer := &pets.Error{Kind: pets.Unavailable, Err: pets.NoSuchPet(1)}
	if got := pets.KindOf(outer); got != pets.Unavailable {
		t.Errorf("an error around another: got %v, want that of the outer", got)
	}
}

func TestAnErrorNobodyClassedIsInternal(t *testing.T) {
	for _, err := range []error{nil, io.EOF, fmt.Errorf("wrapped: %w", io.EOF), &pets.Error{Message: "no kind"}} {
		if got := pets.KindOf(err); got != pets.Internal {
			t.Errorf("%v: got %v, want internal", err, got)
		}
	}
}

func TestErrorsReadAsSentences(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind pets.Kind
		want string
	}{
		{pets.NoSuchPet(-7), pets.NotFound, "there is no pet with id -7"},
		{pets.NoSuchKey("a\nb"), pets.NotFound, `there is no key with id "a\nb"`},
		{&pets.Error{Message: "it failed"}, pets.Internal, "it failed"},
		{&pets.Error{Message: "it failed", Err: io.EOF}, pets.Internal, "it failed: EOF"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := pets.KindOf(c.err); got != c.kind {
			t.Errorf("%v: got %v, want %v", c.err, got, c.kind)
		}
	}
}
