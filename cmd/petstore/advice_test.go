package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/service"
)

// TestAdvice checks that every kind of error that the layers below export has advice,
// and that its commands exist and name the store.
func TestAdvice(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("advice.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`(?m)^\t(?:var )?(Err[A-Z]\w*) += errors\.New`)
	for _, dir := range []string{"store/sqlite", "store/postgres"} {
		files, _ := filepath.Glob("../../internal/" + dir + "/*.go")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range exported.FindAllStringSubmatch(string(text), -1) {
				if name := filepath.Base(dir) + "." + m[1]; !strings.Contains(string(table), "{"+name+",") {
					t.Errorf("%s has no advice", name)
				}
			}
		}
	}
	root := rootCommand(environment{}, nil)
	command := regexp.MustCompile(service.Name + ` (\w+)(.*)`)
	for _, a := range advice {
		got := advise(fmt.Errorf("start: %w", a.about), "sqlite:p.db").Error()
		if !strings.HasPrefix(got, "start: "+a.about.Error()+"; ") {
			t.Errorf("%v: got %q, want the error and advice", a.about, got)
		}
		if m := command.FindStringSubmatch(got[len("start: ")+len(a.about.Error()):]); m != nil {
			if c, _, err := root.Find([]string{m[1]}); err != nil || c == root || !strings.Contains(m[2], "--store sqlite:") {
				t.Errorf("%v: got %q, want a command with --store", a.about, got)
			}
		}
	}
}
