// Command report makes the tables and charts of the documents from the files of
// internal/bench/measured. `make bench-report` runs it, at the top of the
// repository.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/petstore/internal/bench/measured"
)

const (
	dir      = "internal/bench/measured/"
	document = "internal/bench/README.md"
	manual   = "deploy/README.md"
	policy   = ".github/SECURITY.md"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// figures is everything that was measured.
type figures struct {
	loopback measured.Loopback
	scale    measured.Scale
	imported measured.Import
	commits  []measured.Commits
	postgres []measured.Versus
	attacks  []measured.Attack
}

func read() (f figures, err error) {
	for _, file := range []struct {
		name string
		to   any
	}{
		{"loopback.json", &f.loopback},
		{"scale.json", &f.scale},
		{"import.json", &f.imported},
		{"fsync.json", &f.commits},
		{"postgres.json", &f.postgres},
		{"attack.json", &f.attacks},
	} {
		if err := measured.Read(dir+file.name, file.to); err != nil {
			return figures{}, err
		}
	}
	return f, nil
}

func run() error {
	f, err := read()
	if err != nil {
		return err
	}
	if err := fill(document, map[string]string{
		"loopback": f.loopback.Table(),
		"scale":    f.scale.Table(),
		"import":   f.imported.Table(),
		"fsync":    measured.CommitsTable(f.commits),
		"postgres": measured.VersusTable(f.postgres),
	}); err != nil {
		return err
	}
	if err := fill(manual, map[string]string{"sizes": sizes(f)}); err != nil {
		return err
	}
	if err := fill(policy, map[string]string{"attack": measured.AttackTable(f.attacks)}); err != nil {
		return err
	}
	return os.WriteFile(dir+"loopback.svg", []byte(loopbackChart(f.loopback)), 0o644)
}

// fill puts each table between the two comments of the document that name it.
func fill(path string, tables map[string]string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(data)
	for name, table := range tables {
		begin, end := "<!-- measured: "+name+" -->\n", "<!-- end of measured: "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return fmt.Errorf("%s has no place marked %q", path, strings.TrimSpace(begin))
		}
		text = before + begin + "\n" + table + "\n" + end + after
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
