//go:build sdk

// Package sdk runs the programs and commands of .github/CLIENTS.md, and the commands in
// the description of the document, as they stand. `make sdk` runs it; it needs curl,
// Node.js with npm, Python with venv, and a network.
package sdk

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// TestPrograms runs each program against the service, and against what else may answer.
func TestPrograms(t *testing.T) {
	for _, language := range []struct{ name, code, file, check string }{
		{"curl", "bash", "main.sh", "true"},
		{"Go", "go", "main.go", "go vet ."},
		{"TypeScript", "ts", "main.ts", "true"}, // its commands check the types
		{"Python", "python", "main.py", "pip install --quiet mypy==2.4.1 && mypy --strict main.py"},
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t, language.file, block(t, language.name, language.code))
			commands := block(t, language.name, "console")
			run := commands[strings.LastIndex(commands, "\n")+1:]
			store, service := newService(t)
			for _, c := range []struct {
				what, url, key, commands string
				fails                    bool
				want                     string
			}{
				{"the service", serve(t, service), program.Key, commands, false, "Zoë 300."},
				{"the types", "", "", language.check, false, ""},
				{"an unknown key", serve(t, service), "unknown", run, true, "a valid API key is required"},
				{"an error of a proxy", serve(t, proxy), program.Key, run, true, "502"},
				{"pages that never end", serve(t, endless(service)), program.Key, run, language.name == "Go", "Zoë 1."},
			} {
				got, err := shell(t, dir, c.url, c.key, c.commands)
				if (err != nil) != c.fails || !strings.Contains(got, c.want) || strings.Count(got, "Zoë 1.") > 2 {
					t.Fatalf("%s: got %s (%v), want %q in it, and a failure: %v", c.what, got, err, c.want, c.fails)
				}
				all, err := store.Pets(t.Context(), pets.ListQuery{Limit: 100, After: 300})
				if c.what == "the service" && (err != nil || len(all.Pets) != 1) {
					t.Errorf("got %v (%v), want one new pet, although a response was lost", all.Pets, err)
				}
			}
		})
	}
}

// TestDescription tests that the page has the commands in the description of the
// document, but the one for Go, which it runs.
func TestDescription(t *testing.T) {
	commands := regexp.MustCompile("(?m)^- (\\w+): `(.+)`$").FindAllStringSubmatch(example.OpenAPI().Info.Description, -1)
	if len(commands) != 3 {
		t.Errorf("got %q, want a command each for Go, TypeScript and Python", commands)
	}
	for _, m := range commands {
		language, command := m[1], m[2]
		if language != "Go" {
			if !strings.Contains(page(t), "$ "+command+"\n") {
				t.Errorf("CLIENTS.md: got no command %s", command)
			}
			continue
		}
		dir := newDir(t, "openapi.yaml", string(gen.Document))
		got, err := shell(t, dir, "", "", "go mod init example.com/pets; "+command+"; go mod tidy; go vet .")
		if err != nil {
			t.Errorf("%s: got %s (%v), want a client", command, got, err)
		}
	}
}

// newService returns a service with 300 pets, and its store. It refuses the first two
// requests for a second each, and loses the response of the first create.
func newService(t *testing.T) (*memory.Store, http.HandlerFunc) {
	store := memory.New()
	for n := range 300 {
		_, _ = store.CreatePet(t.Context(), example.Named(fmt.Sprintf("Zoë %d.", n+1)), pets.IdempotencyKey{}) // never fails
	}
	h := program.NewHandler(store, nil)
	var requests, creates atomic.Int32
	var refused time.Time
	return store, func(w http.ResponseWriter, r *http.Request) {
		switch n := requests.Add(1); {
		case !strings.HasPrefix(r.URL.Path, example.Base()):
			requests.Add(-1) // the document
			h.ServeHTTP(w, r)
		case n <= 3 && time.Since(refused) < time.Second:
			t.Errorf("got a request %v after one that was to be repeated a second later", time.Since(refused))
		case n <= 2:
			refused = time.Now()
			w.Header().Set("Retry-After", "1")
			http.Error(w, "<h1>Later</h1>", []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n-1])
		case r.Method == http.MethodPost && creates.Add(1) == 1:
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			h.ServeHTTP(w, r)
		}
	}
}

// proxy cannot reach the service.
func proxy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "<h1>Bad Gateway</h1>")
}

// endless answers with the first page again and again, as mocks do.
func endless(service http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = "limit=2"
		service(w, r)
	}
}

// serve serves h and returns its address, as the sandbox prints it.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + example.Base()
}

// newDir returns a directory beside the checkout that has one file.
func newDir(t *testing.T, file, text string) string {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "client")
	root, err := filepath.Abs("../../..")
	err = errors.Join(err, os.Symlink(root, filepath.Join(parent, "petstore")), os.Mkdir(dir, 0o700))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../.github/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block returns the first block of a kind in a section of the page, without prompts.
func block(t *testing.T, section, kind string) string {
	t.Helper()
	_, part, _ := strings.Cut(page(t), "# "+section+"\n")
	_, block, _ := strings.Cut(part, "\n```"+kind+"\n")
	block, _, found := strings.Cut(block, "\n```")
	if !found {
		t.Fatalf("%s: got no block %s", section, kind)
	}
	return strings.TrimPrefix(strings.ReplaceAll(block, "\n$ ", "\n"), "$ ")
}

// shell runs commands in dir and returns what they print. What the first ones installed
// in a virtual environment of Python is there for the next ones too.
func shell(t *testing.T, dir, url, key, commands string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	path := filepath.Join(dir, ".venv/bin") + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PETSTORE_URL="+url, "PETSTORE_KEY="+key, "PATH="+path, "npm_config_ignore_scripts=true")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
