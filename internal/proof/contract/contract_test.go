package contract

import (
	"net/http"
	"os"
	"testing"

	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// TestContract tests the service on every store, or only the server at URL:
//
//	make contract URL=http://127.0.0.1:8080/v1 KEY=…
//
// READ_ONLY_KEY, OTHER_KEY, EXPIRED_KEY and REVOKED_KEY add the cases that need
// them.
func TestContract(t *testing.T) {
	if url := os.Getenv("URL"); url != "" {
		Run(t, Server{
			URL: url, Key: os.Getenv("KEY"), OtherKey: os.Getenv("OTHER_KEY"),
			ReadOnlyKey: os.Getenv("READ_ONLY_KEY"), ExpiredKey: os.Getenv("EXPIRED_KEY"), RevokedKey: os.Getenv("REVOKED_KEY"),
		})
		return
	}
	t.Run("memory", func(t *testing.T) { Run(t, inProcess(t, newHandler(t))) })
}

func newHandler(t *testing.T) http.Handler {
	t.Helper()
	h, err := program.NewHandler(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func inProcess(t *testing.T, h http.Handler) Server {
	t.Helper()
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	return Server{URL: s.URL + "/v1", Key: program.Key, OtherKey: program.OtherKey, ReadOnlyKey: program.ReadOnlyKey}
}
