// Command report makes the tables and charts of the README from what was
// measured. `make bench-report` runs it, at the top of the repository.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/petstore/internal/bench/measured"
)

const dir = "internal/bench/measured/"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run() error {
	var loopback measured.Loopback
	if err := measured.Read(dir+"loopback.json", &loopback); err != nil {
		return err
	}
	var scale measured.Scale
	if err := measured.Read(dir+"scale.json", &scale); err != nil {
		return err
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	text := string(readme)
	for name, table := range map[string]string{"loopback": loopback.Table(), "scale": scale.Table()} {
		if text, err = replaceBetween(text, name, table); err != nil {
			return err
		}
	}
	for path, content := range map[string]string{
		"README.md":          text,
		dir + "loopback.svg": loopbackChart(loopback),
		dir + "scale.svg":    scaleChart(scale),
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replaceBetween puts content between the two comments that name it.
func replaceBetween(text, name, content string) (string, error) {
	begin, end := "<!-- measured: "+name+" -->\n", "<!-- end of measured: "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("README.md has no place marked %q", strings.TrimSpace(begin))
	}
	return before + begin + "\n" + content + "\n" + end + after, nil
}
