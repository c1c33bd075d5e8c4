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

// TestFailuresHideKeys runs TestBroken in another process, and looks for keys in what it prints.
func TestFailuresHideKeys(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$")
	cmd.Env = append(os.Environ(), "BROKEN=1")
	out, err := cmd.CombinedOutput()
	if failures := strings.Count(string(out), ".go:"); err == nil || failures < 20 {
		t.Errorf("got %d failures (%v), want many", failures, err)
	}
	for _, key := range []string{"the-key-that", "another-key-that", "reading-key-that", "expired-key-that", "revoked-key-that"} {
		if line := regexp.MustCompile(".*" + key[:len(key)-5] + ".*").FindString(string(out)); line != "" {
			t.Errorf("got a key: %s", line)
		}
	}
}

// TestBroken tests a server that sends back the request, closes the connection, or has links with the key.
func TestBroken(t *testing.T) {
	if os.Getenv("BROKEN") == "" {
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			panic(http.ErrAbortHandler)
		}
		if strings.HasPrefix(r.URL.RawQuery, "limit=") {
			w.Header().Set("Link", "<"+r.URL.Path+"?limit=1&key=the-key-that-may-write>; rel=\"next\"")
			_, _ = io.WriteString(w, `[{"id": 1}]`)
			return
		}
		if r.URL.RawQuery == "empty" {
			w.Header().Set("Link", "<?key=the-key-that-may-write>; rel=\"next\"")
			_, _ = io.WriteString(w, "[]")
			return
		}
		w.Header().Set("Link", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
		_ = r.Write(w)
		_, _ = io.WriteString(w, strings.Repeat(r.Header.Get("Authorization"), 9))
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
			s.Try(t, Case{Send: "GET /v1/books", Want: "200", Header: "Link: x"})
			t.Run("Empty", func(t *testing.T) { s.Page(t, "/v1/books?empty") })
			t.Run("Endless", func(t *testing.T) { s.Walk(t, "/v1/books?", 1) })
		},
	}
	s.Test(t)
}
