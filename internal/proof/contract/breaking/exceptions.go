package main

import (
	"os"
	"slices"
	"strings"
)

// exceptions are the breaks that are meant, and whether each was met.
type exceptions map[string]bool

// readExceptions reads one break a line; a line after # is its reason.
func readExceptions(path string) (exceptions, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	e := exceptions{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			e[line] = false
		}
	}
	return e, nil
}

// without returns found without the exceptions, which it marks as met.
func (e exceptions) without(found []string) []string {
	return slices.DeleteFunc(found, func(f string) bool {
		_, meant := e[f]
		if meant {
			e[f] = true
		}
		return meant
	})
}

// unused returns the exceptions that were never met, in order.
func (e exceptions) unused() (lines []string) {
	for line, met := range e {
		if !met {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
