package contract

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFailures tests, in another process, a server that is broken in each of these ways. It looks for keys in
// what that prints, and counts the failures. There is only one if nothing can be tested.
func TestFailures(t *testing.T) {
	if kind := os.Getenv("BROKEN"); kind != "" {
		testBroken(t, kind)
		return
	}
	for kind, want := range map[string][]string{
		"odd":     {"more failures of this kind are not shown", "10.0.0.1/v1/books?limit=1&key=KEY, want a relative one", "and another link", "want one success and 409"},
		"refuses": {"got the status 401", "the key is refused"},
		"closes":  {"no response"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailures$")
		cmd.Env = append(os.Environ(), "BROKEN="+kind)
		out, err := cmd.CombinedOutput()
		failures := strings.Count(string(out), ".go:")
		isFew := failures == 1 || kind == "odd" && failures <= 60
		assert.True(t, err != nil && isFew, "%s: got %d failures, want one, or three of a kind", kind, failures)
		for _, says := range want {
			assert.Contains(t, string(out), says, kind)
		}
		assert.NotRegexp(t, "(the|another|reading|expired|revoked)-key", string(out), kind)
	}
}

// testBroken tests a server that refuses each request, closes each connection or, if it is odd, sends back the
// request, and has pages that the document excludes.
func testBroken(t *testing.T, kind string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.URL.String()
		switch {
		case kind == "closes" || r.Method == http.MethodPut:
			panic(http.ErrAbortHandler)
		case kind == "refuses":
			w.WriteHeader(http.StatusUnauthorized)
		case target == "/v1/books:count":
		case strings.HasPrefix(target, "/v1/books?limit="):
			w.Header().Set("Link", `<http://10.0.0.1/v1/books?limit=1&key=the-key-that-may-write>; rel="next"`)
			_, _ = io.WriteString(w, `[{"id": 1}]`)
		default:
			w.Header().Set("Link", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusTeapot)
			_ = r.Write(w)
			_, _ = io.WriteString(w, strings.Repeat(r.Header.Get("Authorization"), 9))
		}
	}))
	defer server.Close()
	document, err := openapi3.NewLoader().LoadFromFile("../edge/testdata/books.yaml")
	require.NoError(t, err)
	s := Suite{
		Document: document, URL: server.URL + "/v1", Realm: "books", Key: "the-key-that-may-write", OtherKey: "another-key-that-may",
		ReadOnlyKey: "reading-key-that-may-not", ExpiredKey: "expired-key-that-may", RevokedKey: "revoked-key-that-may", MaxBody: 64 << 10,
		Cases: func(t *testing.T, s *Suite) {
			s.Try(t, Case{Send: "GET /v1/books?year=2", Want: "200", Header: "Link: x"})
			s.Once(t, "GET /v1/books?empty", http.StatusConflict, func() string { return "" })
			t.Run("Endless", func(t *testing.T) { s.Walk(t, "/v1/books?", 1) })
		},
	}
	s.Test(t)
}
