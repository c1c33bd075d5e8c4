package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// oasdiff is the path of the program.
type oasdiff string

// severityLevels has every rule of oasdiff: err where it breaks a client, info
// where it does not. All that oasdiff itself calls an error or a warning is err,
// and so are these, which it calls information:
//   - the name of an operation, tag, schema or security scheme that is gone or
//     another: generated code is named after them;
//   - another type of security scheme: clients authenticate by it;
//   - a default that is gone or another: clients that send nothing depend on it;
//   - an error, an optional property or a header that is no longer promised;
//   - a discriminator, or a property that may no longer be written or read;
//   - another type, format or constant for the same bytes: code has it;
//   - a sunset or a version that is taken back: clients plan with it.
//
//go:embed severity-levels.txt
var severityLevels []byte

// change is one line of oasdiff's changelog.
type change struct {
	ID, Text, Operation, Path string
	Level                     level
}

// level is how oasdiff grades a change.
type level int

const (
	info level = 1 + iota
	warning
	failure
)

// sentence is how the change is printed, and named in the file of exceptions.
func (c change) sentence() string {
	return strings.TrimSpace(c.Operation + " " + c.Path + " " + c.Text)
}

// compare returns the changes between two documents that break a client.
func (o oasdiff) compare(ctx context.Context, before, after []byte) (found []string, err error) {
	changes, err := o.changes(ctx, before, after, severityLevels)
	for _, c := range changes {
		if c.Level >= failure {
			found = append(found, c.sentence())
		}
	}
	return found, err
}

// changes returns all changes between two documents, graded by levels, or by
// oasdiff itself without them.
func (o oasdiff) changes(ctx context.Context, before, after, levels []byte) (changes []change, err error) {
	dir, err := os.MkdirTemp("", "breaking-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, data := range map[string][]byte{"before.yaml": before, "after.yaml": after, "levels.txt": levels} {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			return nil, err
		}
	}
	// Generated code names its arguments after path parameters, so they count.
	err = o.run(ctx, &changes, "changelog", "--format", "json", "--include-path-params", "--severity-levels", file("levels.txt"), file("before.yaml"), file("after.yaml"))
	return changes, err
}

// run runs the program and decodes its output into result. The program prints
// nothing where it finds nothing.
func (o oasdiff) run(ctx context.Context, result any, args ...string) error {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, string(o), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", o, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if stdout.Len() == 0 {
		return nil
	}
	if err := json.Unmarshal(stdout.Bytes(), result); err != nil {
		return fmt.Errorf("%s prints no JSON: %w", o, err)
	}
	return nil
}
