//go:build !race

package files_test

import (
	"strings"
	"testing"
)

// The race detector has nothing to find in one reader, and makes seconds of each
// of these files: `make test` reads them without it.

func TestACompressedFileThatExpandsTooMuchIsRefused(t *testing.T) {
	const want = "expands to more than 200 times its size"
	for what, rows := range map[string]string{
		"a bomb":            strings.Repeat(strings.Repeat("x", 1023)+"\n", 17<<10),
		"a row without end": strings.Repeat("x", 17<<20),
	} {
		if _, pets, err := imported(t, gzipped(t, "name,categoryId\n"+rows)); err == nil || !strings.Contains(err.Error(), want) || len(pets) > 0 {
			t.Errorf("%s: got %v (%v), want an error that says %s", what, pets, err, want)
		}
	}
}
