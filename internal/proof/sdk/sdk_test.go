//go:build sdk

// Package sdk runs the programs and commands of .github/CLIENTS.md, and the commands in
// the description of the document, as they stand. `make sdk` runs it; it needs curl,
// Node.js with npm, Python with venv, a JDK with Maven, and a network.
package sdk

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/gen"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// TestPrograms runs each program against the service, and against others that may answer.
func TestPrograms(t *testing.T) {
	exact := "cat >>main.ts <<'END'\n" + block(t, "Exact integers", "ts") + "\nEND\n" + block(t, "Exact integers", "console")
	for _, language := range []struct{ name, code, file, more string }{
		{"curl", "bash", "main.sh", "true"},
		{"Go", "go", "main.go", "go vet ."},
		{"TypeScript", "ts", "main.ts", exact + " | tee out && grep 9007199254740993n out"},
		{"Python", "python", "main.py", "pip install --quiet mypy==2.4.1 && mypy --strict main.py"},
		{"Java", "console", "commands", "true"}, // which copy the program
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t, language.file, block(t, language.name, language.code))
			commands := block(t, language.name, "console")
			run := commands[strings.LastIndex(commands, "\n")+1:]
			store, service := newService(t)
			got, err := shell(t, dir, service, program.Key, commands)
			require.NoError(t, err, got)
			for n := range 300 {
				name := fmt.Sprintf("Zoë %d.", n+1)
				require.Equal(t, 1, strings.Count(got, name), "%s in %s", name, got)
			}
			all, err := store.Pets(t.Context(), pets.ListQuery{Limit: 100, After: 300})
			require.NoError(t, err)
			require.Len(t, all.Pets, 1, "new pets, although responses were lost")
			assert.Contains(t, got, fmt.Sprint(all.Pets[0].ID))
			got, err = shell(t, dir, service, program.Key, language.more)
			assert.NoError(t, err, got)
			for _, c := range []struct{ fault, key, want string }{
				{"", "unknown", "a valid API key is required"},
				{"502", program.Key, "502"},
				{"200", program.Key, "<h1>|html"},
				{"500", program.Key, "500"}, // asks to wait for a day
				{"null", program.Key, ""},
				{"no pet", program.Key, ""},
				{"half a pet", program.Key, ""},
				{"{} pet", program.Key, ""},
				{"302 pet", program.Key, "302"},
				{"identity", program.Key, ""}, // half, without a length or chunks
				{"same page", program.Key, "no further pets"},
				{"length", program.Key, ""},
			} {
				got, err := shell(t, dir, proxy(service, c.fault), c.key, run)
				assert.Error(t, err, "%s: %s", c.fault, got)
				assert.Regexp(t, c.want, got, c.fault)
				assert.LessOrEqual(t, strings.Count(got, "Zoë 1."), 2, "%s: %s", c.fault, got)
			}
		})
	}
}

// TestDescription tests that each command in the document is one of the page,
// which TestPrograms runs, or generates a client for Go.
func TestDescription(t *testing.T) {
	commands := regexp.MustCompile("(?m)^- (\\w+): `(.+)`$").FindAllStringSubmatch(example.OpenAPI().Tags[0].Description, -1)
	assert.Len(t, commands, 3, "for Go, TypeScript and Python")
	for _, m := range commands {
		if command := m[2]; !strings.Contains(page(), "$ "+command+"\n") {
			dir := newDir(t, "openapi.yaml", string(gen.Document))
			got, err := shell(t, dir, nil, "", "go mod init example.com/pets; "+command+"; go mod tidy; go vet .")
			assert.NoError(t, err, "%s: %s", command, got)
		}
	}
}

// newService returns a service with 300 pets, and its store, behind a proxy with many faults. It
// reports requests before the end of Retry-After, and commands that show the key to other accounts.
func newService(t *testing.T) (*memory.Store, http.HandlerFunc) {
	store := memory.New()
	for n := range 300 {
		_, _ = store.CreatePet(t.Context(), example.Named(fmt.Sprintf("Zoë %d.", n+1)), pets.IdempotencyKey{}) // never fails
	}
	h := program.NewHandler(store, nil)
	faults := []string{
		"429", "503", "lost", "", "length", "chunked", "close", "", "stall", "502", "504", "", // three pages
		"", "504", "close", "lost", // the page after the last pet, and a create
	}
	var requests, notBefore atomic.Int64 // the last in Unix seconds
	return store, func(w http.ResponseWriter, r *http.Request) {
		fault := ""
		if strings.HasPrefix(r.URL.Path, example.Base()) { // not the document
			if n := int(requests.Add(1)); n <= len(faults) {
				fault = faults[n-1]
			}
		}
		assert.GreaterOrEqual(t, time.Now().Unix(), notBefore.Load(), "the time of a request")
		if fault == "429" || fault == "503" {
			notBefore.Store(time.Now().Unix() + 2)
		}
		commands, _ := filepath.Glob("/proc/*/cmdline")
		for _, file := range commands {
			command, _ := os.ReadFile(file)
			shown := bytes.Contains(command, []byte(program.Key)) && bytes.Contains(command, []byte(r.Host))
			assert.False(t, shown, "the key in %q", command)
		}
		proxy(h, fault)(w, r)
	}
}

// proxy passes requests on to h, and their responses without Link and with a fault.
func proxy(h http.Handler, fault string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fault == "same page" {
			r.URL.RawQuery = "limit=2"
		}
		whole := httptest.NewRecorder()
		h.ServeHTTP(whole, r)
		maps.Copy(w.Header(), whole.Header())
		w.Header().Del("Link")
		status, body := whole.Code, whole.Body.String()
		half, isCut := body[:len(body)/2], slices.Contains([]string{"length", "stall", "chunked", "close"}, fault)
		if code, err := strconv.Atoi(fault); err == nil {
			status, body = code, "<h1>Bad Gateway</h1>"
			date := time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat)
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Retry-After", map[string]string{"429": "2", "503": date, "500": "86400"}[fault])
		}
		switch {
		case fault == "lost":
			panic(http.ErrAbortHandler) // closes the connection
		case fault == "length", fault == "stall":
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		case fault == "close":
			w.Header().Set("Connection", "close")
		case fault == "identity":
			w.Header().Set("Transfer-Encoding", fault)
			body = half
		case fault == "null":
			body = fault
		case !strings.HasSuffix(fault, " pet") || r.Method != http.MethodPost:
		case fault == "302 pet":
			w.Header().Set("Location", example.ListPath())
			status = http.StatusFound
		default:
			body = map[string]string{"{} pet": "{}", "half a pet": half}[fault]
		}
		if isCut {
			body = half
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		if isCut {
			_ = http.NewResponseController(w).Flush()
			if fault == "stall" {
				<-r.Context().Done() // the client times out
			}
			panic(http.ErrAbortHandler)
		}
	}
}

// newDir returns a directory beside the checkout that has one file.
func newDir(t *testing.T, file, text string) string {
	dir := t.TempDir() + "/client"
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(example.Must(filepath.Abs("../../..")), dir+"/../petstore"))
	require.NoError(t, os.WriteFile(dir+"/"+file, []byte(text), 0o600))
	return dir
}

func page() string { return string(example.Must(os.ReadFile("../../../.github/CLIENTS.md"))) }

// block returns the first block of a kind in a section of the page, without prompts.
func block(t *testing.T, section, kind string) string {
	block := regexp.MustCompile("(?s)# " + section + "\n.*?\n```" + kind + "\n(.*?)\n```").FindStringSubmatch(page())
	require.NotNil(t, block, "%s: a block %s", section, kind)
	return strings.TrimPrefix(strings.ReplaceAll(block[1], "\n$ ", "\n"), "$ ")
}

// shell runs commands in dir, which may send requests to h, and returns what they print. They use
// the virtual environment of Python in dir, if there is one.
func shell(t *testing.T, dir string, h http.HandlerFunc, key, commands string) (string, error) {
	s := httptest.NewServer(h)
	defer s.Close()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PETSTORE_URL="+s.URL+example.Base(), "PETSTORE_KEY="+key,
		"PATH="+filepath.Join(dir, ".venv/bin")+":"+os.Getenv("PATH"), "npm_config_ignore_scripts=true")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
