package contract

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestFailures runs TestBroken in another process with each kind of server. It looks for keys in what that
// prints, and counts the failures. There is only one if nothing can be tested.
func TestFailures(t *testing.T) {
	for kind, want := range map[string][]string{
		"200": {"more failures are not shown", "10.0.0.1/v1/books, want a relative one", "got 1 again", "want one success and 409"},
		"401": {"the key is refused"},
		"404": {"another service"},
		"502": {"a proxy does not reach it"},
		"0":   {"no response"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$")
		cmd.Env = append(os.Environ(), "BROKEN="+kind)
		out, err := cmd.CombinedOutput()
		if failures := strings.Count(string(out), ".go:"); err == nil || failures > 41 || kind != "200" && failures != 1 {
			t.Errorf("%s: got %d failures (%v), want one, or 41 at most", kind, failures, err)
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

// TestBroken tests a server that answers each request with the same status or, if that is 200, only the first
// one. Later it sends back the request, closes the connection, or has pages that the document excludes.
func TestBroken(t *testing.T) {
	status, err := strconv.Atoi(os.Getenv("BROKEN"))
	if err != nil {
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next, page := "", `[{"id": 1}]`
		target := r.URL.String()
		switch {
		case status == 0 || r.Method == http.MethodPut:
			panic(http.ErrAbortHandler)
		case status != http.StatusOK || target == "/v1/books:count":
			w.WriteHeader(status)
			return
		case strings.HasPrefix(target, "/v1/books?empty"):
			next, page = "?key=the-key-that-may-write", "[]"
		case strings.HasPrefix(target, "/v1/books?limit="):
			next = "http://" + r.Host + "/v1/books?limit=1&key=the-key-that-may-write"
		case target == "/v1/books?year=1&limit=1":
			next = "http://10.0.0.1/v1/books"
		default:
			w.Header().Set("Link", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusTeapot)
			_ = r.Write(w)
			page = strings.Repeat(r.Header.Get("Authorization"), 9)
		}
		if next != "" {
			w.Header().Set("Link", "<"+next+`>; rel="next"`)
		}
		_, _ = io.WriteString(w, page)
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
			t.Run("Empty", func(t *testing.T) { s.Walk(t, "/v1/books?empty&", 1) })
			t.Run("Endless", func(t *testing.T) { s.Walk(t, "/v1/books?", 1) })
			t.Run("Host", func(t *testing.T) { s.Walk(t, "/v1/books?year=1&", 1) })
		},
	}
	s.Test(t)
}
