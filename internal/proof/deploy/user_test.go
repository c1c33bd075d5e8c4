//go:build deploy

package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLeaveRoot runs commands as root on a store in a folder of another user, who has
// put links to root's files into it.
func TestLeaveRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for others to reach dir
		t.Fatal(err)
	}
	binary, err := filepath.Abs(filepath.Join(top, petstore))
	if err != nil {
		t.Fatal(err)
	}
	rooms, secret, absent := 0, dir+"/secret", dir+"/absent"
	write(t, secret, "root's")
	// room returns a folder with a store and a backup.
	room := func(owner string) string {
		rooms++
		folder := fmt.Sprintf("%s/%d", dir, rooms)
		run(t, "install", "-d", "-o", owner, folder)
		run(t, petstore, "keys", "create", "first", "--store", "sqlite:"+folder+"/petstore.db")
		run(t, petstore, "backup", "--store", "sqlite:"+folder+"/petstore.db", folder+"/backup.db")
		return folder
	}
	// command runs one in a folder, and checks that root's files are as they were.
	command := func(folder string, args ...string) (output string, failed bool) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = folder
		text, err := cmd.CombinedOutput()
		if content, _ := os.ReadFile(secret); string(content) != "root's" || owner(secret) != 0 || owner(absent) != -1 {
			t.Fatalf("%v in a folder with a link: got %q of user %d, and another file of user %d; want root's file only: %s",
				args, content, owner(secret), owner(absent), text)
		}
		return string(text), err != nil
	}
	const store = "--store sqlite:petstore.db"
	for _, link := range []string{"petstore.db", "petstore.db-lock", "petstore.db-wal", "petstore.db-shm", "petstore.db-journal", "petstore.db-x", "backup.db", "out.db"} {
		for _, args := range []string{
			"keys create x " + store, "keys list " + store, "keys revoke first " + store, "migrate " + store, "verify " + store,
			"backup --force out.db " + store, "restore --force backup.db " + store, "copy --from sqlite:backup.db --to sqlite:out.db",
		} {
			for _, target := range []string{secret, absent} {
				folder := room("nobody")
				run(t, "ln", "-sf", target, folder+"/"+link)
				command(folder, strings.Fields(args)...)
			}
		}
	}

	theirs, mine := room("nobody"), room("root")
	for _, name := range []string{"petstore.db", "backup.db", "petstore.db-lock"} {
		if got := owner(theirs + "/" + name); got != 65534 {
			t.Errorf("%s: got a file of user %d, want one of nobody", name, got)
		}
	}
	run(t, "install", "-d", theirs+"/below") // root's folder in nobody's
	for link, target := range map[string]string{
		theirs + "/link.db": mine + "/petstore.db",
		theirs + "/to-mine": "../" + filepath.Base(mine),
		mine + "/folder":    theirs,
		mine + "/back":      theirs + "/to-mine",
		mine + "/direct.db": mine + "/petstore.db",
	} {
		run(t, "ln", "-s", target, link)
	}
	for _, c := range []struct {
		store           string
		denied, becomes bool // whether nobody may not, and whether root becomes nobody
	}{
		{theirs + "/link.db", true, true},
		{theirs + "/below/new.db", true, true},
		{mine + "/folder/petstore.db", false, true},
		{mine + "/back/petstore.db", true, true},
		{mine + "/direct.db", false, false},
	} {
		got, denied := command(mine, "keys", "create", "x", "--store", "sqlite:"+c.store)
		becomes := strings.Contains(got, "belongs to the user nobody, as whom this runs")
		if denied != c.denied || becomes != c.becomes {
			t.Errorf("%+v: got %v, %v: %s", c, denied, becomes, got)
		}
	}
	got, failed := command(theirs, "serve", "--store", "sqlite:petstore.db", "--addr", "127.0.0.1:0")
	if !failed || !strings.Contains(got, "belongs to the user nobody: run the server as that user") {
		t.Errorf("serve: got %s, want a refusal", got)
	}
}

// owner returns the user ID of the owner of a file, or -1 if there is none.
func owner(path string) int {
	info, err := os.Lstat(path)
	if err != nil {
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
