//go:build postgres

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// isProduct reports whether the file is a part of the program.
func isProduct(file string) bool { return !strings.HasPrefix(file, "internal/proof/") }

func TestAPropertyIsAddedAsThePageSays(t *testing.T) {
	t.Parallel()
	all := edits(t, "Adding a property")
	product := 0
	for _, e := range all {
		if isProduct(e.file) {
			product++
		}
	}
	if product > 8 {
		t.Errorf("files of the program that the page changes: got %d, want at most 8", product)
	}
	dir := copyTree(t)
	for i, e := range all {
		if isProduct(e.file) && i > 0 {
			wantNext(t, dir, "color", named(e))
		}
		e.apply(t, dir)
		if i == 0 {
			wantNext(t, dir, "make generate")
			mustRunIn(t, dir, "go", "generate", "./gen")
		}
	}
	if sentences, err := next(dir); err != nil || len(sentences) > 0 {
		t.Errorf("the next step: got %q (%v), want none", sentences, err)
	}

	t.Run("each file left out alone is named", func(t *testing.T) {
		for _, e := range all {
			if isProduct(e.file) {
				wantNextWithout(t, dir, e)
			}
		}
	})
	t.Run("every test of a property passes", func(t *testing.T) {
		mustRunIn(t, dir, "go", "test", "./internal/pets", "./internal/pets/service", "./internal/pets/files", "./internal/proof/contract")
		mustRunIn(t, dir, "go", "test", "-tags", "postgres", "./cmd/petstore", "-run", "EveryPropertyOfARequest")
	})
	t.Run("stores are upgraded", func(t *testing.T) { upgrade(t, dir) })
}

// named returns how the next step names the file of an edit: a new file by its folder.
func named(e edit) string {
	if _, err := os.Stat(filepath.Join(root, e.file)); err != nil {
		return filepath.Dir(e.file)
	}
	return e.file
}

// wantNextWithout takes one edit back, and checks that the next step names its file.
func wantNextWithout(t *testing.T, dir string, e edit) {
	t.Helper()
	done := map[string][]byte{}
	files := []string{e.file}
	if e.file == "openapi.yaml" { // nothing was generated then
		files = append(files, "gen/api/openapi.yaml")
	}
	for _, file := range files {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		done[path] = text
		before, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, before, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wantNext(t, dir, "olor", named(e))
	for path, text := range done {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
