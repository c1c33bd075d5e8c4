//go:build postgres

package postgres_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each part of the rule is needed: without it the histories of a test that passes
// have no order. A mutant is the program with other text in one place.
func TestEachPartOfTheRuleForStandbysIsMissedByLinearizability(t *testing.T) {
	t.Parallel()
	for _, mutant := range []struct{ name, file, text, instead, test string }{
		{
			"without the position", "exact.go",
			"case replayed < p.log:", "case false:",
			"they_lag_by_less_than_the_limit",
		},
		{
			"with the position and the reads in one snapshot, as in one statement", "standbys.go",
			`"read committed"`, `"repeatable read"`,
			"their_positions_take_long_to_be_told",
		},
		{
			"without xmin", "visible.go",
			"r.results.newer = true", "r.results.newer = false",
			"one_hangs_for_moments",
		},
	} {
		t.Run(mutant.name, func(t *testing.T) {
			program := buildMutant(t, mutant.file, mutant.text, mutant.instead)
			// A run of the test meets the fault by chance, mostly; it has several.
			var out []byte
			var err error
			for range 8 {
				out, err = exec.CommandContext(t.Context(), program, "-test.run", "TestReadsByStandbysAreLinearizable/"+mutant.test).CombinedOutput()
				if err != nil && strings.Contains(string(out), "got Illegal, want an order") {
					return
				}
			}
			t.Errorf("got error %v in the last of 8 runs, want that the histories have no order: %s", err, out)
		})
	}
}

// buildMutant builds the tests of this package with that text of a file of the
// package primary replaced.
func buildMutant(t *testing.T, file, text, instead string) (program string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("primary", file))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(source)
	if err != nil || strings.Count(string(code), text) != 1 {
		t.Fatalf("%s: got %d times %q (error %v), want it once", file, strings.Count(string(code), text), text, err)
	}
	changed, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err == nil {
		err = os.WriteFile(overlay, replaced, 0o600)
	}
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(code), text, instead, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "mutant")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "postgres", "-overlay", overlay, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the mutant: got error %v: %s", err, out)
	}
	return program
}
