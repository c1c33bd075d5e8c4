package petstore_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/petstore/internal/petstore"
)

func TestEveryKindIsListedAndHasANameOfItsOwn(t *testing.T) {
	want := map[petstore.Kind]string{
		petstore.Internal:    "internal",
		petstore.Invalid:     "invalid",
		petstore.NotFound:    "not found",
		petstore.Reused:      "reused",
		petstore.Unavailable: "unavailable",
	}
	kinds := petstore.Kinds()
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
	if next := petstore.Kind(len(kinds)); next.String() != petstore.Internal.String() {
		t.Errorf("kind %d: got name %q, want Kinds to list it", next, next)
	}
}

func TestTheKindOfAnErrorIsFoundThroughWrapping(t *testing.T) {
	for _, k := range petstore.Kinds() {
		err := &petstore.Error{Kind: k, Message: "it failed", Err: io.EOF}
		for how, wrapped := range map[string]error{
			"bare":          err,
			"wrapped":       fmt.Errorf("creating: %w", err),
			"twice":         fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)),
			"joined":        errors.Join(io.ErrClosedPipe, err),
			"one of two %w": fmt.Errorf("%w and %w", io.ErrClosedPipe, err),
		} {
			if got := petstore.KindOf(wrapped); got != k {
				t.Errorf("%s: got kind %v, want %v", how, got, k)
			}
			if !errors.Is(wrapped, io.EOF) {
				t.Errorf("%s: got the cause lost, want it found by errors.Is", how)
			}
		}
	}
	outer := &petstore.Error{Kind: petstore.Unavailable, Err: petstore.NoSuchPet(1)}
	if got := petstore.KindOf(outer); got != petstore.Unavailable {
		t.Errorf("an error around another: got %v, want that of the outer", got)
	}
}

func TestAnErrorNobodyClassedIsInternal(t *testing.T) {
	for _, err := range []error{nil, io.EOF, fmt.Errorf("wrapped: %w", io.EOF), &petstore.Error{Message: "no kind"}} {
		if got := petstore.KindOf(err); got != petstore.Internal {
			t.Errorf("%v: got %v, want internal", err, got)
		}
	}
}

func TestErrorsReadAsSentences(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind petstore.Kind
		want string
	}{
		{petstore.NoSuchPet(-7), petstore.NotFound, "there is no pet with id -7"},
		{petstore.NoSuchKey("a\nb"), petstore.NotFound, `there is no key with id "a\nb"`},
		{&petstore.Error{Message: "it failed"}, petstore.Internal, "it failed"},
		{&petstore.Error{Message: "it failed", Err: io.EOF}, petstore.Internal, "it failed: EOF"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := petstore.KindOf(c.err); got != c.kind {
			t.Errorf("%v: got %v, want %v", c.err, got, c.kind)
		}
	}
}
