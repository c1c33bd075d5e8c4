//go:build thirdparty

// Package conformance lets programs of third parties judge openapi.yaml and the
// running service. They share no code with the service and none with its own
// judge. With every change, `make conformance` installs and runs Schemathesis, which
// makes requests from the document, and Prism, which stands between a client and
// the service. `make third-party` has the others, whose clients and judges the
// folder third-party makes.
package conformance

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	document = "../../../openapi.yaml"
	program  = "../../../.bin/petstore"
	key      = "a-key-for-third-party-tests"
	giveUp   = 30 * time.Second // for anything that starts or responds
)

// installed returns the path of a program that make has installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../.bin/conformance", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run these tests by `make conformance`, which installs it", err)
	}
	return path
}

// start runs a program until the test ends, and returns what pattern finds
// first in its output.
func start(t *testing.T, cmd *exec.Cmd, pattern string) string {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		_ = cmd.Wait()
		out.Close()
	})
	found := make(chan string, 1)
	go func() {
		defer close(found)
		find := regexp.MustCompile(pattern)
		for lines := bufio.NewScanner(out); lines.Scan(); { // to the end, or the program would block
			if match := find.FindString(lines.Text()); match != "" && len(found) == 0 {
				found <- match
			}
		}
	}()
	select {
	case match, ok := <-found:
		if ok {
			return match
		}
		t.Fatalf("%s ended before it wrote %s", cmd, pattern)
	case <-time.After(giveUp):
		t.Fatalf("%s: got no %s in %v", cmd, pattern, giveUp)
	}
	return ""
}

// serve starts the service on an empty store and returns its base address.
func serve(t *testing.T, store string) string {
	t.Helper()
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--store", store)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+key)
	return start(t, cmd, `http://127\.0\.0\.1:[0-9]+/v1`)
}

// falsify returns the address of the service as a faulty one would be: ask
// changes what reaches it, response what it says.
func falsify(t *testing.T, service string, ask func(*http.Request), response func(*http.Response)) string {
	t.Helper()
	u, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host
			ask(r.Out)
		},
		ModifyResponse: func(r *http.Response) error { response(r); return nil },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + u.Path
}

// say replaces the body of a response.
func say(r *http.Response, body string) {
	r.Body.Close()
	r.Body = io.NopCloser(strings.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
