package contract

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/contract"
	"example.com/petstore/engine/keys"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

func init() { time.Local = time.FixedZone("local", 17*60) } // no client has it

// TestContract tests the service on each kind of store or, if URL is set, only the
// server there. The address may lack the segment of the version:
//
//	make contract URL=http://127.0.0.1:8080 KEY=…
//
// READ_ONLY_KEY, OTHER_KEY, EXPIRED_KEY and REVOKED_KEY enable the cases that need them.
func TestContract(t *testing.T) {
	if url := os.Getenv("URL"); url != "" {
		url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), example.Base()) + example.Base()
		newSuite(url, url, &contract.Suite{
			Key: os.Getenv("KEY"), OtherKey: os.Getenv("OTHER_KEY"), ReadOnlyKey: os.Getenv("READ_ONLY_KEY"),
			ExpiredKey: os.Getenv("EXPIRED_KEY"), RevokedKey: os.Getenv("REVOKED_KEY"),
		}).Test(t)
		return
	}
	for name, start := range program.Stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storeSuite(t, start(t)()).Test(t)
		})
	}
}

// newSuite completes a suite for the service at url, whose document says that it is at address.
func newSuite(url, address string, s *contract.Suite) *contract.Suite {
	_, s.UnknownKey, _ = keys.New(service.KeyPrefix, "unknown", false, time.Now(), 0)
	s.Document, s.URL, s.Realm, s.MaxBody = example.OpenAPI(), url, service.Name, service.MaxBody
	s.Leaks = regexp.MustCompile(service.Name + `\.|` + keys.Pattern(service.KeyPrefix).String())
	s.Cases = func(t *testing.T, s *contract.Suite) { cases(t, s, address) }
	s.Unpromised = map[string]string{"listPets page": "A page also ends with the pet that brings its names to 32 KiB; see longTexts."}
	return s
}

// storeSuite serves the store at an address until the test ends, with keys of each kind, all of one name.
func storeSuite(t *testing.T, address string) *contract.Suite {
	st := program.Open(t, address)
	token := func(readOnly bool, lifetime time.Duration) string {
		k, token, err := keys.New(service.KeyPrefix, "test", readOnly, time.Now().Add(-time.Hour), lifetime)
		require.NoError(t, errors.Join(err, st.CreateKey(t.Context(), k)))
		return token
	}
	s := newSuite(serve(t, st)+example.Base(), example.Base(), &contract.Suite{
		Key: token(false, 0), OtherKey: token(false, 0),
		ReadOnlyKey: token(true, 0), ExpiredKey: token(false, time.Minute), RevokedKey: token(false, 0),
	})
	example.Must(st.RevokeKey(t.Context(), strings.Split(s.RevokedKey, "_")[1], time.Now()))
	return s
}

// serve serves a store as the program does, until the test ends, and returns the address.
func serve(t *testing.T, st store.Store) string {
	log := slog.New(slog.DiscardHandler)
	h, l := program.NewHandler(st, log), example.Must(net.Listen("tcp", "127.0.0.1:0"))
	srv := example.Must(server.New(server.Options{
		Handler: h, Stopping: h.Stopping, Listeners: []net.Listener{l}, Logger: log,
	}))
	go store.Background(t.Context(), st, log) // does what a 202 has promised
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(t.Context()) }()
	t.Cleanup(func() { assert.NoError(t, <-ended) })
	return "http://" + l.Addr().String()
}
