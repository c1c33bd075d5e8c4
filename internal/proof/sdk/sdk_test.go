//go:build sdk

// Package sdk runs the commands of .github/CLIENTS.md and the code samples of the
// document as they stand. `make sdk` runs it; it needs curl, Node.js with npm, Python
// with venv, and a network.
package sdk

import (
	"cmp"
	"context"
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
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// page is the page with the commands, and address the service in them.
const (
	page    = "../../../.github/CLIENTS.md"
	address = "http://127.0.0.1:8080"
)

// languages are those of the samples, with the program that the page's commands run.
var languages = map[string]string{"Shell": "main.sh", "Go": "main.go", "TypeScript": "main.ts", "Python": "main.py"}

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
				programs["all"] = section(t, language, "go")
			}
			root, err := filepath.Abs("../../..")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			script := "ln -s " + root + " petstore && mkdir client && cd client\n"
			names := slices.Sorted(maps.Keys(programs)) // createPet is the first that creates
			for _, name := range names {
				program := strings.ReplaceAll(programs[name], address, url)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o600); err != nil {
					t.Fatal(err)
				}
				script += fmt.Sprintf("cp ../%s %s\n%s >../%[1]s.out\n", name, file, strings.ReplaceAll(commands, address, url))
				commands = commands[strings.LastIndex(commands, "\n")+1:] // only the first program needs all
				script += fmt.Sprintf("(KEY=unknown; %s) >../%s.refused 2>&1 || true\n", commands, name)
			}
			shell(t, dir, script, "KEY="+program.Key, "npm_config_ignore_scripts=true")
			for _, name := range names {
				want := map[string]string{"createPet": "Frank", "getPet": "Zoë 1."}[name]
				for file, want := range map[string]string{name + ".out": cmp.Or(want, lastPet), name + ".refused": "a valid API key is required"} {
					if got, err := os.ReadFile(filepath.Join(dir, file)); !strings.Contains(string(got), want) {
						t.Errorf("%s: got %q (%v), want %q in it", file, got, err, want)
					}
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
	t.Helper()
	store = memory.New()
	p := example.Pet()
	for n := 1; p.Name != lastPet; n++ {
		p.Name = fmt.Sprintf("Zoë %d.", n)
		if _, err := store.CreatePet(t.Context(), p, pets.IdempotencyKey{}); err != nil {
			t.Fatal(err)
		}
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
					if language == "Go" {
						found[o.OperationID] = goProgram(s["source"].(string))
					}
				}
			}
		}
	}
	return found
}

// goProgram returns a complete program for a sample in Go.
func goProgram(sample string) string {
	return "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n\t\"time\"\n\n\t\"example.com/petstore/gen/client\"\n)\n\n" +
		"func main() {\n\tctx := context.Background()\n" + sample + "}\n"
}

// section returns the first block of a kind in the page's section on a language,
// without prompts.
func section(t *testing.T, language, kind string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+language+"\n")
	_, block, _ := strings.Cut(part, "\n```"+kind+"\n")
	block, _, found := strings.Cut(block, "\n```")
	if !found {
		t.Fatalf("%s: got no block %s for %s", page, kind, language)
	}
	return strings.TrimPrefix(strings.ReplaceAll(block, "\n$ ", "\n"), "$ ")
}

// shell runs a script in dir.
func shell(t *testing.T, dir, script string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // it downloads
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}
