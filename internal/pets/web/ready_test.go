package web_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
)

func TestAFaultOfTheFileIsToldFromAFaultOfTheStore(t *testing.T) {
	st := memory.New()
	keyring, err := keys.New(st, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	away := &pets.Error{Kind: pets.Unavailable, Message: "the store is away"}
	for _, c := range []struct {
		ping error
		want string
	}{
		{away, "store"},
		{&pets.FileFault{Err: away}, "file"},
		{nil, ""},
	} {
		s := web.Service("test", st, func(context.Context) error { return c.ping }, keyring, "")
		err, reason := s.Ready(t.Context()), ""
		if n, ok := errors.AsType[*edge.NotReady](err); ok {
			reason = n.Reason
		}
		if reason != c.want || !errors.Is(err, c.ping) {
			t.Errorf("ping %v: got %v with the reason %q, want %q", c.ping, err, reason, c.want)
		}
	}
}
