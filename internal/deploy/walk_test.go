//go:build deploy

package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheWayFromNothingToTwoReplicasIsAsWritten runs every command of that
// section of deploy/README.md, in order, on a Debian of its own with systemd,
// with the package of a release.
func TestTheWayFromNothingToTwoReplicasIsAsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := read(t, "deploy", "README.md")
	_, section, found := strings.Cut(page, "\n## From nothing to two replicas\n")
	section, _, end := strings.Cut(section, "\n## ")
	if !found || !end {
		t.Fatal("deploy/README.md: got no section on the way from nothing, want one")
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "# "); ok {
				script.WriteString(command)
			}
		}
	}
	write(t, filepath.Join(dir, "walk"), script.String())
	deb := glob(t, makeRelease(t, "UMASK=022"), "*.deb")
	command(t, "cp", deb, dir)

	// Everything in it ends with its first process.
	system := start(t, nil, "unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "sh", "-e", "testdata/boot.sh", dir)
	var status []byte
	system.eventually(t, "the end of the commands", func() bool {
		var err error
		status, err = os.ReadFile(filepath.Join(dir, "walk.status"))
		return err == nil && len(status) > 0
	})
	out, err := os.ReadFile(filepath.Join(dir, "walk.out"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(status)) != "0" {
		t.Errorf("the commands of deploy/README.md: got status %s, want 0\n%s", status, out[max(0, len(out)-6000):])
	}
	if journal, err := os.ReadFile(filepath.Join(dir, "journal.out")); t.Failed() {
		t.Logf("the journal (%v):\n%s", err, journal)
	}
	if n := strings.Count(string(out), `"name":"Frank"`); n != 3 {
		t.Errorf("Frank, when added, listed, and listed after the upgrade: got %d times, want 3\n%s", n, out)
	}
}
