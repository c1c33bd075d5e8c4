package contract

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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
		if failures := strings.Count(string(out), ".go:"); err == nil || failures > 60 || kind != "odd" && failures != 1 {
			t.Errorf("%s: got %d failures (%v), want one, or three of a kind", kind, failures, err)
		}
		for _, says := range want {
			if !strings.Contains(string(out), says) {
				t.Errorf("%s: got %s, want %q", kind, out, says)
			}
		}
		if line := regexp.MustCompile(".*(the|another|reading|expired|revoked)-key.*").Find(out); line != nil {
			t.Errorf("%s: got a key: %s", kind, line)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
