//go:build sdk

// Package sdk generates clients from the served document, one for TypeScript and
// one for Python, and uses them as a team would. It also runs the code samples in
// the document. `make sdk` runs it; it needs Node.js with npm, Python with venv,
// and curl.
package sdk

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

const story = `created 1 Frank available
created 2 Zoë 🐕 sold
created 3 Max available
created 3 Max available
refused: 422 idempotency_key_reused
listed 1 Frank
listed 2 Zoë 🐕
listed 3 Max
got Frank until Thu, 05 Dec 2030 00:00:00 GMT
refused: 400 invalid_parameter
refused: 401 unauthorized
refused: 404 not_found
`

// language is a language for which the document has samples. Its commands run in
// a directory with the generated client.
type language struct {
	name, ext string // the lang in x-codeSamples, and the extension of files
	lock      string // the file with the versions of all packages, if there is a project
	install   string // installs them in the directory TOOLS
	generate  string // generates the client
	compile   string // compiles all programs
	run       string // runs the program NAME
	wrap      func(sample string) string
}

var languages = []language{
	{name: "Shell", ext: ".sh", run: "bash -eu $NAME.sh"},
	{name: "Go", ext: ".go", run: "go run $NAME.go", wrap: goProgram},
	{
		name: "TypeScript", ext: ".ts", lock: "typescript/package-lock.json",
		install:  "cp $PROJECT/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error",
		generate: "ln -s $TOOLS/node_modules . && cp $PROJECT/package.json $PROJECT/tsconfig.json . && node_modules/.bin/openapi-typescript openapi.yaml --output schema.d.ts",
		compile:  "node_modules/.bin/tsc",
		run:      "node built/$NAME.js",
	},
	{
		name: "Python", ext: ".py", lock: "python/requirements.txt",
		install:  "python3 -m venv --clear venv && venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $PROJECT/requirements.txt",
		generate: "ln -s $TOOLS/venv . && PATH=$TOOLS/venv/bin:$PATH openapi-python-client generate --path openapi.yaml --meta none --output-path pet_store_client --fail-on-warning",
		run:      "venv/bin/python $NAME.py",
	},
}

func TestSDK(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir, server := l.prepare(t)
			programs := []string{"createPet", "listPets", "getPet"}
			for _, operation := range programs {
				sample := strings.ReplaceAll(l.sample(t, dir, operation), "http://127.0.0.1:8080/v1", server)
				if l.wrap != nil {
					sample = l.wrap(sample)
				}
				if err := os.WriteFile(filepath.Join(dir, operation+l.ext), []byte(sample), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if l.lock != "" {
				shell(t, dir, "cp $PROJECT/story* .", l.variables(t)...)
				programs = append([]string{"story"}, programs...)
			}
			shell(t, dir, l.compile)
			for _, name := range programs {
				t.Run(name, func(t *testing.T) {
					got := shell(t, dir, l.run, "NAME="+name, "BASE_URL="+server, "KEY="+program.Key)
					if name == "story" && got != story {
						t.Errorf("got\n%swant\n%s", got, story)
					}
					if !strings.Contains(got, "Frank") {
						t.Errorf("got %q, want the pet Frank", got)
					}
				})
			}
		})
	}
}

// TestReadme compares the generators that the README names with those that TestSDK
// runs.
func TestReadme(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	readme := read("../../../README.md")
	for _, m := range regexp.MustCompile(`"(openapi-[\w-]+|typescript)": "([\d.]+)"`).FindAllStringSubmatch(read("typescript/package.json"), -1) {
		if want := " " + m[1] + "@" + m[2]; !strings.Contains(readme, want) {
			t.Errorf("README.md: got none, want npm install%s", want)
		}
	}
	if want := regexp.MustCompile(`openapi-python-client==[\d.]+`).FindString(read("python/requirements.txt")); want == "" || !strings.Contains(readme, "pip install "+want+"\n") {
		t.Errorf("README.md: got none, want pip install %s", want)
	}
}

// variables returns the environment variables for a project's commands.
func (l language) variables(t *testing.T) []string {
	t.Helper()
	project, err := filepath.Abs(filepath.Dir(l.lock))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PROJECT=" + project, "TOOLS=" + bin(t, filepath.Base(project))}
}

// prepare starts a server and generates a client from its document. It returns
// the directory of the client and the address of the server.
func (l language) prepare(t *testing.T) (dir, url string) {
	t.Helper()
	h, err := program.NewHandler(memory.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	resp, err := http.Get(s.URL + "/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if dir = t.TempDir(); l.name == "Go" { // within the module, for its imports
		if dir, err = os.MkdirTemp(bin(t, ""), "go"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.yaml"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	if l.lock == "" {
		return dir, s.URL + "/v1"
	}
	install := "cmp -s $PROJECT/" + filepath.Base(l.lock) + " installed || { " + l.install + " && cp $PROJECT/" + filepath.Base(l.lock) + " installed; }"
	shell(t, bin(t, filepath.Dir(l.lock)), install, l.variables(t)...)
	shell(t, dir, l.generate, l.variables(t)...)
	return dir, s.URL + "/v1"
}

// bin returns a directory below .bin/sdk that is kept for the next run.
func bin(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../../../.bin/sdk", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sample returns the code sample of an operation in the document.
func (l language) sample(t *testing.T, dir, operation string) string {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile(filepath.Join(dir, "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			samples, _ := o.Extensions["x-codeSamples"].([]any)
			for _, s := range samples {
				if s := s.(map[string]any); o.OperationID == operation && s["lang"] == l.name {
					return s["source"].(string)
				}
			}
		}
	}
	t.Fatalf("x-codeSamples of %s: got none in %s, want one", operation, l.name)
	return ""
}

// goProgram returns a complete program for a sample in Go.
func goProgram(sample string) string {
	return "package main\n\nimport (\n\t\"context\"\n\t\"crypto/rand\"\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n\n\t\"example.com/petstore/gen/client\"\n)\n\n" +
		"func main() {\n\tctx, _ := context.Background(), rand.Text\n" + sample + "}\n"
}

// shell runs a command in dir and returns its standard output.
func shell(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it may download
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}
