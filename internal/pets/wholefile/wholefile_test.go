package wholefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/wholefile"
)

func TestAFileGetsItsNameWithItsContent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pets.csv")
	for _, content := range []string{"first", "second"} {
		f, err := wholefile.Temporary(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.Name()) != filepath.Dir(name) {
			t.Errorf("got a temporary file %s, want it beside %s", f.Name(), name)
		}
		if _, err := f.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := wholefile.Rename(f.Name(), name); err != nil {
			t.Errorf("got error %v, want the file renamed", err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != content {
			t.Errorf("got %q (error %v), want %q", got, err, content)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("got mode %v (error %v), want -rw-------", info.Mode(), err)
		}
	}
}

func TestOnlyAFileMayBeReplacedAndOnlyWithLeave(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "pets.csv")
	if err := wholefile.CheckTarget(name, false); err != nil {
		t.Errorf("a new name: got error %v, want nil", err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.CheckTarget(name, true); err != nil {
		t.Errorf("with leave: got error %v, want nil", err)
	}
	for _, c := range []struct {
		name    string
		replace bool
		want    string
	}{
		{name, false, "is there already; choose another name, or replace it with --force"},
		{folder, true, "it is there and not a file"},
		{name + "/x", true, "cannot write"},
	} {
		if err := wholefile.CheckTarget(c.name, c.replace); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says %q", c.name, err, c.want)
		}
	}
}
