//go:build deploy

package deploy

import (
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshooting checks the tables for 3 a.m.: the program prints the text of each
// row, or testdata/walk*.sh provokes it, and its alerts exist.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	program := run(t, nil, "sh", "-c", "cat $(git ls-files 'cmd/*.go' 'internal/*.go' | grep -v '_test.go\\|/proof/')")
	alerts := run(t, nil, "sh", "-c", "cat deploy/prometheus/alerts*.yml")
	walk := run(t, nil, "sh", "-c", "cat internal/proof/deploy/testdata/walk*.sh")
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, page := range strings.Fields(run(t, nil, "git", "ls-files", "deploy/*.md")) {
		_, table, _ := strings.Cut(read(t, page), "| symptom | in the log | do |\n|---|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		rows := strings.Split(table, "\n")
		if len(rows) < 5 {
			t.Errorf("%s: got %d rows, want the table", page, len(rows))
		}
		for _, row := range rows {
			columns := strings.Split(row, "|")
			for _, m := range quoted.FindAllStringSubmatch(columns[1], -1) {
				if !strings.Contains(alerts, "alert: "+m[1]+"\n") {
					t.Errorf("%s: there is no alert %s", page, m[1])
				}
			}
			for _, m := range quoted.FindAllStringSubmatch(columns[2], -1) {
				text := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(m[1], `"reason":"`), `"`), "…")
				if !strings.Contains(program, text) && !strings.Contains(walk, "grep '"+text+"'") {
					t.Errorf("%s: nothing prints %q", page, text)
				}
			}
		}
	}
}
