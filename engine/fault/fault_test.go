package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/engine/fault"
)

func TestKindOf(t *testing.T) {
	conflict := fault.Kind{Code: "conflict", Status: 409} // a service's own
	cause := errors.New("cause")
	inner := &fault.Error{Kind: fault.InvalidBody, Message: "inner", Err: cause}
	err := &fault.Error{Kind: fault.Unavailable, Message: "away", Err: inner}
	for _, c := range []struct {
		err  error
		kind fault.Kind
		text string
	}{
		{cause, fault.Internal, "cause"},
		{err, fault.Unavailable, "away: inner: cause"},
		{fmt.Errorf("outer: %w", err), fault.Unavailable, "outer: away: inner: cause"},
		{errors.Join(cause, fault.New(fault.NotFound, "no pea")), fault.NotFound, "cause\nno pea"},
		{fault.Wrap(fault.RateLimited, err), fault.RateLimited, "away: inner: cause"},
		{fault.New(conflict, ""), conflict, "conflict"},
		{new(fault.Error), fault.Internal, ""},
	} {
		if kind, text := fault.KindOf(c.err), c.err.Error(); kind != c.kind || text != c.text {
			t.Errorf("got %v, %q, want %v, %q", kind, text, c.kind, c.text)
		}
	}
	if !errors.Is(err, cause) || fault.KindOf(nil) != fault.Internal {
		t.Error("the error is not its cause, or nil is not Internal")
	}
}
