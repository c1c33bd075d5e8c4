//go:build sdk

// Package sdk runs the commands of .github/CLIENTS.md and the code samples of the
// document as they stand. `make sdk` runs it; it needs curl, Node.js with npm, Python
// with venv, and a network.
package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// languages are those of the samples, with the program that the page's commands run.
var languages = map[string]string{"Shell": "main.sh", "Go": "main.go", "TypeScript": "main.ts", "Python": "main.py"}

// goProgram is a program with a sample in Go.
const goProgram = `package main

import ("context"; "fmt"; "log"; "net/http"; "os"; "time"; "example.com/petstore/gen/client")

func main() {
	ctx := context.Background()
	%s
}
`

func TestClients(t *testing.T) {
	for language, file := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			url, store := serve(t)
			programs, commands := samples(language), "bash -eu main.sh"
			if language != "Shell" {
				commands = section(t, language, "console")
			}
			if language == "Go" {
				for name, sample := range programs {
					programs[name] = fmt.Sprintf(goProgram, sample)
				}
				programs["all"] = section(t, language, "go")
			}
			here := func(text string) string { return strings.ReplaceAll(text, "http://127.0.0.1:8080", url) }
			root, _ := filepath.Abs("../../..")
			dir := filepath.Join(t.TempDir(), "client")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(root, dir+"/../petstore")); err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(programs)) { // createPet is the first that creates
				if err := os.WriteFile(filepath.Join(dir, file), []byte(here(programs[name])), 0o600); err != nil {
					t.Fatal(err)
				}
				want := cmp.Or(map[string]string{"createPet": "Frank", "getPet": "Zoë 1."}[name], lastPet)
				if got, err := shell(t, dir, here(commands), program.Key); err != nil || !strings.Contains(got, want) {
					t.Fatalf("%s: got %s (%v), want %q in it", name, got, err, want)
				}
				commands = commands[strings.LastIndex(commands, "\n")+1:] // only the first program needs all
				want = "a valid API key is required"
				if got, _ := shell(t, dir, commands, "unknown"); !strings.Contains(got, want) {
					t.Errorf("%s: got %s, want %q in it", name, got, want)
				}
			}
			all, err := store.Pets(t.Context(), pets.Query{Limit: 1 << 20})
			got := slices.DeleteFunc(all.Pets, func(p pets.Pet) bool { return p.Name != "Frank" })
			if err != nil || len(got) != 1 && programs["createPet"] != "" {
				t.Errorf("got %v, error %v, want one: createPet adds one, also if a response is lost", got, err)
			}
		})
	}
}

// lastPet is the name of the last of three pages of pets.
var lastPet = fmt.Sprintf("Zoë %d.", 2*int(*example.Parameter("limit").Max)+1)

// serve starts a service with three pages of pets. It loses the response of the first
// create.
func serve(t *testing.T) (url string, store *memory.Store) {
	store = memory.New()
	p := example.Pet()
	for n := 1; p.Name != lastPet; n++ {
		p.Name = fmt.Sprintf("Zoë %d.", n)
		_, _ = store.CreatePet(t.Context(), p, pets.IdempotencyKey{}) // never fails
	}
	h, err := program.NewHandler(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lost sync.Once
	s := program.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			lost.Do(func() {
				h.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			})
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, store
}

// samples returns the code samples of a language by operation.
func samples(language string) map[string]string {
	found := map[string]string{}
	for _, item := range example.Document().Paths.Map() {
		for _, o := range item.Operations() {
			all, _ := o.Extensions["x-codeSamples"].([]any)
			for _, s := range all {
				if s := s.(map[string]any); s["lang"] == language {
					found[o.OperationID] = s["source"].(string)
				}
			}
		}
	}
	return found
}

// section returns the first block of a kind in the page's section on a language,
// without prompts.
func section(t *testing.T, language, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../../.github/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+language+"\n")
	_, block, _ := strings.Cut(part, "\n```"+kind+"\n")
	block, _, found := strings.Cut(block, "\n```")
	if !found {
		t.Fatalf("CLIENTS.md: got no block %s for %s", kind, language)
	}
	return strings.TrimPrefix(strings.ReplaceAll(block, "\n$ ", "\n"), "$ ")
}

// shell runs commands in dir with an API key, and returns what they print. What the first
// ones installed in a virtual environment of Python is there for the next ones too.
func shell(t *testing.T, dir, commands, key string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	path := filepath.Join(dir, ".venv/bin") + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "KEY="+key, "PATH="+path, "npm_config_ignore_scripts=true")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
