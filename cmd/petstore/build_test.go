package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The next version has a column more in its list of the columns of pets, which reads
// the same in both stores.
const (
	columnsOld = "var columns = []column{\n"
	columnsNew = columnsOld + `{"chip", func(*pets.Pet) any { return new("new") }},` + "\n"
)

// buildWith builds the program with other files in the place of its own, or beside
// them: texts by absolute names.
func buildWith(t *testing.T, files map[string]string) (path string) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		instead := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+"-"+filepath.Base(name))
		if err := os.WriteFile(instead, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[name] = instead
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "petstore")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("building another version: got error %v: %s", err, out)
	}
	return path
}
