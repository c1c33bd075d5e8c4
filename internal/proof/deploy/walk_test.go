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
	script := commands(t, "From nothing to two replicas", "# ") + commands(t, "Removing an animal for legal reasons", "# ") +
		"test \"$(curl -fsS --insecure -H \"Authorization: Bearer $KEY\" https://localhost/v1/pets)\" = '[]'\n"
	write(t, filepath.Join(dir, "walk"), script)
	deb := glob(t, makeRelease(t, "UMASK=022"), "*.deb")
	command(t, "cp", deb, dir)

	// Everything in it ends with its first process.
	system := start(t, nil, "unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "sh", "-e", "testdata/boot.sh", dir)
	var status []byte
	system.within(t, 5*giveUp, "the end of the commands", func() bool { // each may wait
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

// commands returns the commands of a section of deploy/README.md that stand
// behind a prompt.
func commands(t *testing.T, section, prompt string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "deploy", "README.md"), "\n## "+section+"\n")
	if !found {
		t.Fatalf("deploy/README.md: got no section %q, want one", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var all strings.Builder
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, prompt); ok {
				all.WriteString(command)
			}
		}
	}
	return all.String()
}

// TestARemovedAnimalLeavesTheFile runs the SQL of deploy/README.md.
func TestARemovedAnimalLeavesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/pets.csv", "name,categoryId\nthe one to be forgotten,1\nFrank,1\n")
	command(t, petstore(t), "import", "--store", "sqlite:"+dir+"/petstore.db", dir+"/pets.csv")
	sql := regexp.MustCompile(`(?m)^sqlite3 .*$`).FindString(commands(t, "Removing an animal for legal reasons", "$ "))
	command(t, "sh", "-c", strings.ReplaceAll(sql, "/var/lib/petstore", dir))
	if got := command(t, petstore(t), "export", "--store", "sqlite:"+dir+"/petstore.db"); !strings.Contains(got, "Frank") || strings.Contains(got, "forgotten") {
		t.Errorf("export: got %s, want Frank alone", got)
	}
	files, err := filepath.Glob(dir + "/petstore.db*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "forgotten") {
			t.Errorf("%s: got the animal's name in it (%v), want it gone", file, err)
		}
	}
}
