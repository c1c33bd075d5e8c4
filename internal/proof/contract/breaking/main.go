// Command breaking fails where openapi.yaml would break a client: one written
// against the specification, or one generated from the document as it was last
// released. oasdiff finds the changes, and severity-levels.txt says which of them
// break a client. Some changes oasdiff does not see: a person does, since every change
// of a released document needs an entry in its list of changes. The command judges the
// document alone and never the service.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/contract"
)

const usage = `usage: breaking OASDIFF [BASE]

Compares openapi.yaml of the working directory with the specification, and with
the openapi.yaml of BASE, a tag, branch or commit. Without BASE that is the last
tag; where there is none, nothing has been released that could be broken.
OASDIFF is the path of the program oasdiff. ` + "`make breaking` installs it and runs this."

func main() {
	os.Exit(run(context.Background(), environment{args: os.Args[1:], dir: ".", today: time.Now(), stdout: os.Stdout, stderr: os.Stderr}))
}

// environment is all that the command sees of the process around it.
type environment struct {
	args           []string
	dir            string // where openapi.yaml stands
	today          time.Time
	stdout, stderr io.Writer
}

const (
	specificationFile = "internal/proof/contract/specification.yaml"
	exceptionsFile    = "internal/proof/contract/breaking-exceptions.txt"
)

// errBreaks says that the document fails; the breaks have been printed.
var errBreaks = errors.New("openapi.yaml would break its clients: undo what is listed above; " +
	"where it must be, add the line to " + exceptionsFile + " below its reason")

// run returns the exit status: 0, 1 for a document that fails, 2 for a command
// line that makes no sense.
func run(ctx context.Context, env environment) int {
	if slices.Contains(env.args, "-h") || slices.Contains(env.args, "--help") {
		fmt.Fprintln(env.stdout, usage)
		return 0
	}
	if len(env.args) < 1 || len(env.args) > 2 {
		fmt.Fprintln(env.stderr, usage)
		return 2
	}
	asked := ""
	if len(env.args) == 2 {
		asked = env.args[1]
	}
	if err := judge(ctx, env, oasdiff(env.args[0]), asked); err != nil {
		fmt.Fprintln(env.stderr, "breaking: "+err.Error())
		return 1
	}
	return 0
}

// judge compares openapi.yaml with all it must not break.
func judge(ctx context.Context, env environment, tool oasdiff, asked string) error {
	current, err := os.ReadFile(filepath.Join(env.dir, "openapi.yaml"))
	if err != nil {
		return err
	}
	specification, err := os.ReadFile(filepath.Join(env.dir, specificationFile))
	if err != nil {
		return err
	}
	allowed, err := readExceptions(filepath.Join(env.dir, exceptionsFile))
	if err != nil {
		return err
	}
	bases := []base{{name: "the specification (" + specificationFile + ")", document: specification}}
	last, why, err := findBase(ctx, env.dir, asked, current)
	if err != nil {
		return err
	}
	if last != nil {
		bases = append(bases, *last)
	}

	failed, err := overdue(env, current)
	if err != nil {
		return err
	}
	for _, b := range bases {
		found, err := breaks(ctx, tool, b, current)
		if err != nil {
			return err
		}
		found = allowed.without(found)
		failed = failed || len(found) > 0
		report(env, b, found)
	}
	if last == nil {
		fmt.Fprintln(env.stdout, "openapi.yaml was compared with the specification alone: "+why)
	}
	if unused := allowed.unused(); len(unused) > 0 {
		failed = true
		fmt.Fprintf(env.stderr, "%s allows what nothing breaks; remove:\n  %s\n", exceptionsFile, strings.Join(unused, "\n  "))
	}
	if failed {
		return errBreaks
	}
	return nil
}

// breaks returns all in which current breaks the clients of b, a sentence each.
func breaks(ctx context.Context, tool oasdiff, b base, current []byte) ([]string, error) {
	before, err := load(b.name, b.document)
	if err != nil {
		return nil, err
	}
	after, err := load("openapi.yaml", current)
	if err != nil {
		return nil, err
	}
	found, err := tool.compare(ctx, b.document, current)
	if err == nil && b.released {
		found = append(found, unlisted(before, after)...)
	}
	return found, err
}

func load(name string, data []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("%s does not load: %w", name, err)
	}
	// An example that no longer fits is no break, and found by lint-spec.
	if err := document.Validate(loader.Context, openapi3.DisableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("%s is not valid OpenAPI: %w", name, err)
	}
	return document, nil
}

// overdue reports whether an operation is still there that its own sunset has
// announced to be gone by today.
func overdue(env environment, current []byte) (bool, error) {
	document, err := load("openapi.yaml", current)
	if err != nil {
		return false, err
	}
	ids, err := contract.Overdue(document, env.today)
	for _, id := range ids {
		fmt.Fprintf(env.stderr, "%s is past its x-sunset and still there: remove it from openapi.yaml\n", id)
	}
	return len(ids) > 0, err
}

func report(env environment, b base, found []string) {
	if len(found) == 0 {
		fmt.Fprintf(env.stdout, "openapi.yaml breaks no client of %s\n", b.name)
		return
	}
	fmt.Fprintf(env.stderr, "openapi.yaml, held against %s:\n  %s\n", b.name, strings.Join(found, "\n  "))
}
