//go:build thirdparty

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// project is a copy of what the command reads, which nothing is known of
// before.
func project(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{specificationFile, exceptionsFile, "openapi.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, name, string(data))
	}
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantRun checks the exit status, and that the output has all of says.
func wantRun(t *testing.T, dir, day string, want int, says ...string) {
	t.Helper()
	today, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if got := run(context.Background(), environment{args: []string{string(tool(t))}, dir: dir, today: today, stdout: &out, stderr: &out}); got != want {
		t.Errorf("exit status: got %d, want %d", got, want)
	}
	for _, s := range says {
		if !strings.Contains(out.String(), s) {
			t.Errorf("printed: got %s, want it to say %q", &out, s)
		}
	}
}

func TestTheDocumentPassesAndSaysWithWhatItWasCompared(t *testing.T) {
	wantRun(t, project(t), "2026-11-21", 0, "no client of the specification", "with the specification alone", "archive")
}

func TestAnOperationThatOutlivesItsSunsetFails(t *testing.T) {
	dir := project(t)
	wantRun(t, dir, "2030-12-04", 0)
	wantRun(t, dir, "2030-12-06", 1, "getPet is past its x-sunset")
}

func TestABreakFailsUntilItIsAnException(t *testing.T) {
	dir := project(t)
	document := strings.Replace(string(gen.Document), "            maximum: 100\n", "            maximum: 50\n", 1)
	put(t, dir, "openapi.yaml", document)
	const found = "GET /pets for the `query` request parameter `limit`, the max was decreased from `100.00` to `50.00`"
	wantRun(t, dir, "2026-11-21", 1, found, exceptionsFile)

	allowed, err := os.ReadFile(filepath.Join(dir, exceptionsFile))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, exceptionsFile, string(allowed)+"# A test.\n"+found+"\n")
	wantRun(t, dir, "2026-11-21", 0)
	put(t, dir, "openapi.yaml", string(gen.Document))
	wantRun(t, dir, "2026-11-21", 1, "allows what nothing breaks", found)
}

func TestADocumentThatIsNoneIsRefusedByName(t *testing.T) {
	dir := project(t)
	put(t, dir, "openapi.yaml", "openapi: 3.0.3\n")
	wantRun(t, dir, "2026-11-21", 1, "openapi.yaml is not valid OpenAPI")
}

func TestAnOperationMayGoAfterItsSunset(t *testing.T) {
	before, after := mutated(t, func(d *openapi3.T) { d.Paths.Delete("/pets/{petId}") })
	before = bytes.ReplaceAll(before, []byte("2030-12-05"), []byte("2020-12-05"))
	found, err := breaks(context.Background(), tool(t), base{name: "before", document: before}, after)
	if err != nil || len(found) > 0 {
		t.Errorf("breaks: got %q (%v), want none", found, err)
	}
}
