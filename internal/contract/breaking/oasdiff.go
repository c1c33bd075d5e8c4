package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// oasdiff is the path of the program.
type oasdiff string

// change is one line of oasdiff's changelog.
type change struct {
	ID, Text, Operation, Path string
	Level                     int // 3 is an error, 2 a warning, 1 information
}

// sentence is how the change is printed, and named in the file of exceptions.
func (c change) sentence() string {
	return strings.TrimSpace(c.Operation + " " + c.Path + " " + c.Text)
}

// compare returns the changes between two documents that hurt a client.
func (o oasdiff) compare(ctx context.Context, before, after []byte) ([]string, error) {
	changes, err := o.changes(ctx, before, after)
	var found []string
	for _, c := range changes {
		if hurts(c) {
			found = append(found, c.sentence())
		}
	}
	return found, err
}

// changes returns all changes between two documents.
func (o oasdiff) changes(ctx context.Context, before, after []byte) (changes []change, err error) {
	dir, err := os.MkdirTemp("", "breaking-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := []string{filepath.Join(dir, "before.yaml"), filepath.Join(dir, "after.yaml")}
	for i, data := range [][]byte{before, after} {
		if err := os.WriteFile(files[i], data, 0o600); err != nil {
			return nil, err
		}
	}
	var stdout, stderr bytes.Buffer
	// Generated code names its arguments after path parameters, so they count.
	cmd := exec.CommandContext(ctx, string(o), "changelog", "--format", "json", "--include-path-params", files[0], files[1])
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", o, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &changes); err != nil {
			return nil, fmt.Errorf("%s answers no JSON: %w", o, err)
		}
	}
	return changes, nil
}
