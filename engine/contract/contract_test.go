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
	for kind, want := range map[string]struct {
		least, most int
		says        string
	}{
		"200": {20, 41, "not shown: "},
		"401": {1, 1, "the key is refused"},
		"404": {1, 1, "another service"},
		"502": {1, 1, "a proxy does not reach it"},
		"0":   {1, 1, "no response"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$")
		cmd.Env = append(os.Environ(), "BROKEN="+kind)
		out, err := cmd.CombinedOutput()
		failures := strings.Count(string(out), ".go:")
		if err == nil || failures < want.least || failures > want.most || !strings.Contains(string(out), want.says) {
			t.Errorf("%s: got %d failures (%v), want %v:\n%s", kind, failures, err, want, out)
		}
		for _, key := range []string{"the-key-that", "another-key-that", "reading-key-that", "expired-key-that", "revoked-key-that"} {
			if line := regexp.MustCompile(".*" + key[:len(key)-5] + ".*").FindString(string(out)); line != "" {
				t.Errorf("%s: got a key: %s", kind, line)
			}
		}
	}
}

// TestBroken tests a server that answers each request with the same status or, if that is 200, only the first
// one. Later it sends back the request, closes the connection, or has links with the key.
func TestBroken(t *testing.T) {
	status, err := strconv.Atoi(os.Getenv("BROKEN"))
	if err != nil {
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status == 0 || r.Method == http.MethodPut {
			panic(http.ErrAbortHandler)
		}
		if status != http.StatusOK || r.URL.String() == "/v1/books:count" {
			w.WriteHeader(status)
			return
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
			s.Try(t, Case{Send: "GET /v1/books?year=1", Want: "200", Header: "Link: x"})
			t.Run("Empty", func(t *testing.T) { s.Page(t, "/v1/books?empty") })
			t.Run("Endless", func(t *testing.T) { s.Walk(t, "/v1/books?", 1) })
		},
	}
	s.Test(t)
}
