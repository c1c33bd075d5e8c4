// Command report makes the tables and charts of the documents from the files of
// internal/proof/bench/measured. `make bench-report` runs it, at the top of the
// repository.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/petstore/internal/proof/bench/measured"
)

const (
	dir      = "internal/proof/bench/measured/"
	document = "internal/proof/bench/README.md"
	manual   = "deploy/README.md"
	howFar   = "deploy/how-far.md"
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
	standbys measured.Standbys
	plan     measured.Plan
	attacks  []measured.Attack
	overload measured.Overload
}

// read reads the measured files below root, likewise.
func read(root string) (f figures, err error) {
	for _, file := range []struct {
		name string
		to   any
	}{
		{"loopback.json", &f.loopback},
		{"scale.json", &f.scale},
		{"import.json", &f.imported},
		{"fsync.json", &f.commits},
		{"postgres.json", &f.postgres},
		{"standbys.json", &f.standbys},
		{"plan.json", &f.plan},
		{"attack.json", &f.attacks},
		{"overload.json", &f.overload},
	} {
		if err := measured.Read(root+dir+file.name, file.to); err != nil {
			return figures{}, err
		}
	}
	return f, nil
}

func run() error {
	f, err := read("")
	if err != nil {
		return err
	}
	files, err := reports("", f)
	if err != nil {
		return err
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reports returns the files that show the figures, by their paths below root,
// which is "" or ends in a slash.
func reports(root string, f figures) (map[string]string, error) {
	files := map[string]string{dir + "loopback.svg": loopbackChart(f.loopback)}
	for path, tables := range map[string]map[string]string{
		document: {
			"loopback": f.loopback.Table(),
			"scale":    f.scale.Table(),
			"import":   f.imported.Table(),
			"fsync":    measured.CommitsTable(f.commits),
			"postgres": measured.VersusTable(f.postgres),
			"standbys": f.standbys.Table(),
			"overload": f.overload.Table(),
		},
		manual: {"sizes": sizes(f)},
		howFar: planner{f.plan}.tables(f),
		policy: {"attack": measured.AttackTable(f.attacks)},
	} {
		data, err := os.ReadFile(root + path)
		if err != nil {
			return nil, err
		}
		if files[path], err = fill(path, string(data), tables); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fill puts each table between the two comments of the text that name it.
func fill(path, text string, tables map[string]string) (string, error) {
	for name, table := range tables {
		begin, end := "<!-- measured: "+name+" -->\n", "<!-- end of measured: "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return "", fmt.Errorf("%s has no place marked %q", path, strings.TrimSpace(begin))
		}
		text = before + begin + "\n" + table + "\n" + end + after
	}
	return text, nil
}
