//go:build sdk

// Package sdk runs the programs and commands of .github/CLIENTS.md, and the commands in
// the description of the document, as they stand. `make sdk` runs it; it needs curl,
// Node.js with npm, Python with venv, and a network.
package sdk

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// TestPrograms runs each program against the service, and against others that may answer.
func TestPrograms(t *testing.T) {
	exact := "cat >>main.ts <<'END'\n" + block(t, "Exact integers", "ts") + "\nEND\n" + block(t, "Exact integers", "console")
	for _, language := range []struct{ name, code, file, more, says string }{
		{"curl", "bash", "main.sh", "true", ""},
		{"Go", "go", "main.go", "go vet .", ""},
		{"TypeScript", "ts", "main.ts", exact, " 9007199254740993n\n"},
		{"Python", "python", "main.py", "pip install --quiet mypy==2.4.1 && mypy --strict main.py", ""},
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t, language.file, block(t, language.name, language.code))
			commands := block(t, language.name, "console")
			run := commands[strings.LastIndex(commands, "\n")+1:]
			store, service := newService(t)
			got, err := shell(t, dir, serve(t, service), program.Key, commands)
			for n := range 300 {
				if name := fmt.Sprintf("Zoë %d.", n+1); err != nil || strings.Count(got, name) != 1 {
					t.Fatalf("got %s (%v), want %s once", got, err, name)
				}
			}
			all, err := store.Pets(t.Context(), pets.ListQuery{Limit: 100, After: 300})
			if err != nil || len(all.Pets) != 1 || !strings.Contains(got, fmt.Sprint(all.Pets[0].ID)) {
				t.Errorf("got %s, new pets %v (%v), want one, although responses were lost", got, all.Pets, err)
			}
			if got, err := shell(t, dir, serve(t, service), program.Key, language.more); err != nil || !strings.Contains(got, language.says) {
				t.Errorf("got %s (%v), want %q", got, err, language.says)
			}
			for _, c := range []struct {
				what      string
				h         http.HandlerFunc
				key, want string
			}{
				{"an unknown key", service, "unknown", "a valid API key is required"},
				{"an error of a proxy", proxy(http.StatusBadGateway), program.Key, "502"},
				{"a success of a proxy", proxy(http.StatusOK), program.Key, "<h1>|html"},
				{"pages that never end", func(w http.ResponseWriter, r *http.Request) {
					r.URL.RawQuery = "limit=2"
					service(w, r)
				}, program.Key, "no further pets"},
				{"responses that are always cut", func(w http.ResponseWriter, r *http.Request) { sendHalf(w, r, service) }, program.Key, ""},
			} {
				got, err := shell(t, dir, serve(t, c.h), c.key, run)
				if err == nil || !regexp.MustCompile(c.want).MatchString(got) || strings.Count(got, "Zoë 1.") > 2 {
					t.Errorf("%s: got %s (%v), want a failure with %q in it", c.what, got, err, c.want)
				}
			}
		})
	}
}

// TestDescription tests that each command in the description of the document is one of the page,
// which TestPrograms runs, or generates a client for Go.
func TestDescription(t *testing.T) {
	commands := regexp.MustCompile("(?m)^- (\\w+): `(.+)`$").FindAllStringSubmatch(example.OpenAPI().Info.Description, -1)
	if len(commands) != 3 {
		t.Errorf("got %q, want a command each for Go, TypeScript and Python", commands)
	}
	for _, m := range commands {
		if command := m[2]; !strings.Contains(page(t), "$ "+command+"\n") {
			dir := newDir(t, "openapi.yaml", string(gen.Document))
			got, err := shell(t, dir, "", "", "go mod init example.com/pets; "+command+"; go mod tidy; go vet .")
			if err != nil {
				t.Errorf("%s: got %s (%v), want a client for Go, or a command of CLIENTS.md", command, got, err)
			}
		}
	}
}

// newService returns a service with 300 pets, and its store. It refuses the first two
// requests for a second each, cuts the second page, stops within the third, loses the
// response of the first create, and cuts that of the second.
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
		case n == 4, r.Method == http.MethodPost && creates.Add(1) == 2:
			sendHalf(w, r, h)
		case n == 6:
			sendHalf(w, r, h)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // the client gives up
		case r.Method == http.MethodPost && creates.Load() == 1:
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			h.ServeHTTP(w, r)
		}
	}
}

// sendHalf sends half of a response of h. net/http closes the connection when the caller returns.
func sendHalf(w http.ResponseWriter, r *http.Request, h http.Handler) {
	whole := httptest.NewRecorder()
	h.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Next(whole.Body.Len() / 2))
}

// proxy answers like a proxy that does not reach the service.
func proxy(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<h1>Bad Gateway</h1>")
	}
}

// serve serves h and returns its address, as the sandbox prints it.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + example.Base()
}

// newDir returns a directory beside the checkout that has one file.
func newDir(t *testing.T, file, text string) string {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "client")
	root, err := filepath.Abs("../../..")
	err = errors.Join(err, os.Symlink(root, filepath.Join(parent, "petstore")), os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	if err != nil {
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

// shell runs commands in dir and returns what they print. They use the virtual environment
// of Python in dir, if there is one.
func shell(t *testing.T, dir, url, key, commands string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	path := filepath.Join(dir, ".venv/bin") + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PETSTORE_URL="+url, "PETSTORE_KEY="+key, "PATH="+path, "npm_config_ignore_scripts=true")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
