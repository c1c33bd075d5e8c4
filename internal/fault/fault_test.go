package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/internal/fault"
)

func TestKindOf(t *testing.T) {
	conflict := fault.Kind{Code: "conflict", Status: 409} // a service's own
	cause := errors.New("cause")
	inner := &fault.Error{Kind: fault.InvalidBody, Message: "inner", Err: cause}
	err := &fault.Error{Kind: fault.Unavailable, Message: "away", Err: inner}
	for _, c := range []struct {
		err  error
		want fault.Kind
	}{
		{nil, fault.Internal},
		{cause, fault.Internal},
		{err, fault.Unavailable},
		{fmt.Errorf("outer: %w", err), fault.Unavailable},
		{errors.Join(cause, fault.New(fault.NotFound, "")), fault.NotFound},
		{fault.Wrap(fault.RateLimited, err), fault.RateLimited},
		{fault.New(conflict, ""), conflict},
		{new(fault.Error), fault.Internal},
	} {
		if got := fault.KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v): got %v, want %v", c.err, got, c.want)
		}
		if got, want := fault.ByCaller(c.err), c.want != fault.Internal && c.want != fault.Unavailable; got != want {
			t.Errorf("ByCaller(%v): got %t, want %t", c.err, got, want)
		}
	}
	if !errors.Is(err, cause) {
		t.Error("the error is not its cause")
	}
	for err, want := range map[error]string{
		err:                                 "away: inner: cause",
		fault.Wrap(fault.Internal, cause):   "cause",
		fault.New(fault.NotFound, "no pea"): "no pea",
		fault.New(fault.Forbidden, ""):      "forbidden",
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
