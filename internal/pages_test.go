package internal

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/service"
)

var root = os.DirFS("..")

// read returns the text of the files that match patterns, by their paths.
func read(patterns ...string) map[string]string {
	texts := map[string]string{}
	for _, pattern := range patterns {
		files, _ := fs.Glob(root, pattern)
		for _, file := range files {
			if text, err := fs.ReadFile(root, file); err == nil { // not a directory
				texts[file] = string(text)
			}
		}
	}
	return texts
}

// TestPages checks that what the pages and deploy/ name exists: files, Go identifiers,
// make targets, commands, flags, alerts and metrics.
func TestPages(t *testing.T) {
	pages := read("*.md", ".github/*.md", "deploy/*.md", "internal/proof/bench/*.md")
	operators := read("*.md", "deploy/*.md") // .github/CLIENTS.md has flags of generators
	manifests := read("deploy/*", "deploy/systemd/*", "deploy/kubernetes/*")
	alerts := read("deploy/prometheus/*")
	var source, rules strings.Builder
	metrics := map[string]bool{}
	for file, text := range read("cmd/petstore/*.go", "internal/*/*.go", "internal/store/*/*.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source.WriteString(text)
		for _, m := range regexp.MustCompile(`(?:NewDesc\(|\.gauge\(|Name: +)"(\w+)"`).FindAllStringSubmatch(text, -1) {
			metrics[service.Name+"_"+m[1]] = true
		}
	}
	for _, text := range alerts {
		rules.WriteString(text)
	}
	exists := func(name string) bool {
		found, _ := fs.Glob(root, path.Clean(name))
		return len(found) > 0
	}
	inSource := func(name string) bool { return strings.Contains(source.String(), name) }
	foreign, suffix := regexp.MustCompile(`^(process_|node_textfile_)`), regexp.MustCompile(`_(count|bucket|sum)$`)
	metric := func(_, name, _ string) bool {
		return metrics[suffix.ReplaceAllString(name, "")] || foreign.MatchString(name)
	}
	upper := strings.ToUpper(service.Name)
	for _, c := range []struct {
		what    string
		files   map[string]string
		pattern string // its first group is the name, its second more about it
		exists  func(file, name, more string) bool
	}{
		{"file", pages, `\]\(([^:)#]+)[)#]`, func(file, name, _ string) bool { return exists(path.Join(path.Dir(file), name)) }},
		{"file", pages, "`((?:cmd|deploy|gen|internal|\\.\\w+)/[^` ]*)`", func(_, name, _ string) bool { return exists(name) }},
		{"identifier", pages, "`(\\w+)` in `([^` ]+/[^` ]+\\.go)`", func(_, name, file string) bool { return strings.Contains(read(file)[file], name) }},
		{"target", pages, "`make ([a-z-]+)", func(_, name, _ string) bool { return strings.Contains(read("Makefile")["Makefile"], "\n"+name+":") }},
		{"command", pages, "(?:`|[$#] |-- |bin/)" + service.Name + " ([a-z]+)", func(_, name, _ string) bool { return inSource(`"`+name+`"`) || inSource(`"`+name+" ") }},
		{"flag", operators, "(?:`|" + service.Name + " [a-z][^`\n]*? )--([a-z-]+)", func(_, name, _ string) bool { return inSource(`"` + name + `"`) }},
		{"variable", manifests, upper + `_([A-Z_]+)`, func(_, name, _ string) bool {
			return inSource(`"`+strings.ToLower(strings.ReplaceAll(name, "_", "-"))+`"`) || inSource(upper+"_"+name)
		}},
		{"alert", pages, "`(" + upper[:1] + service.Name[1:] + "[A-Z]\\w+)`", func(_, name, _ string) bool { return strings.Contains(rules.String(), "alert: "+name+"\n") }},
		{"metric", pages, "`(" + service.Name + "(?:_[a-z]+){2,})`", metric},
		// A name in quotes after = is the value of a label, one with a bracket or a colon a
		// function or a key of YAML.
		{"metric", alerts, `(?:^|[^="\w]|[^=\\]\\?")([a-z]+(?:_[a-z0-9]+)+)\b([^(:.]|$)`, metric},
	} {
		found := 0
		for file, text := range c.files {
			for _, m := range regexp.MustCompile(c.pattern).FindAllStringSubmatch(text, -1) {
				found++
				if !c.exists(file, m[1], strings.Join(m[2:], "")) {
					t.Errorf("%s: there is no %s %s", file, c.what, m[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("got no %s that matches %s", c.what, c.pattern)
		}
	}
}
