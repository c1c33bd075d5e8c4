//go:build deploy

package deploy

import (
	"errors"
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
	const nobody = 65534
	dir := t.TempDir()
	rooms, secret, absent := filepath.Join(dir, "rooms"), filepath.Join(dir, "secret"), filepath.Join(dir, "absent")
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for others to reach dir
		t.Fatal(err)
	}
	// room returns a folder with a store and a backup.
	room := func(owner int) string {
		t.Helper()
		if err := os.MkdirAll(rooms, 0o755); err != nil {
			t.Fatal(err)
		}
		folder, err := os.MkdirTemp(rooms, "")
		if err == nil {
			err = errors.Join(os.Chown(folder, owner, owner), os.Chmod(folder, 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
		store := "sqlite:" + filepath.Join(folder, "petstore.db")
		run(t, nil, petstore(t), "keys", "create", "first", "--store", store)
		run(t, nil, petstore(t), "backup", "--store", store, filepath.Join(folder, "backup.db"))
		return folder
	}
	// command runs one in a folder, and wants root's files to be as they were.
	command := func(t *testing.T, folder string, args ...string) (output string, failed bool) {
		t.Helper()
		write(t, secret, "root's")
		cmd := exec.CommandContext(t.Context(), petstore(t), args...)
		cmd.Dir = folder
		text, err := cmd.CombinedOutput()
		if content, readErr := os.ReadFile(secret); readErr != nil || string(content) != "root's" {
			t.Errorf("root's file: got %.20q, error %v; %s", content, readErr, text)
		}
		info, statErr := os.Lstat(secret)
		if statErr != nil || owner(info) != 0 {
			t.Errorf("root's file: got %v, error %v, want one of root; %s", info, statErr, text)
		}
		if _, err := os.Lstat(absent); err == nil {
			t.Errorf("a file was made in root's folder; %s", text)
			_ = os.Remove(absent)
		}
		return string(text), err != nil
	}
	for _, link := range []string{"petstore.db", "petstore.db-lock", "petstore.db-wal", "petstore.db-shm", "petstore.db-journal", "petstore.db-x", "backup.db", "out.db"} {
		t.Run(link, func(t *testing.T) {
			for _, target := range []string{secret, absent} {
				for _, args := range []string{"keys create x", "keys list", "keys revoke first", "migrate", "verify", "backup --force out.db", "restore --force backup.db", "copy --from sqlite:backup.db --to sqlite:out.db"} {
					folder := room(nobody)
					_ = os.Remove(filepath.Join(folder, link))
					if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
						t.Fatal(err)
					}
					store := []string{"--store", "sqlite:" + filepath.Join(folder, "petstore.db")}
					if strings.HasPrefix(args, "copy") {
						store = nil
					}
					command(t, folder, append(strings.Fields(args), store...)...)
				}
			}
		})
	}
	yours, mine := room(nobody), room(0)
	for _, name := range []string{"petstore.db", "backup.db", "petstore.db-lock"} {
		if info, err := os.Stat(filepath.Join(yours, name)); err != nil || owner(info) != nobody {
			t.Errorf("%s: got %v, error %v, want a file of nobody", name, info, err)
		}
	}
	below := filepath.Join(yours, "below")
	if err := os.Mkdir(below, 0o777); err != nil { // root's folder in nobody's
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		filepath.Join(yours, "link.db"):  filepath.Join(mine, "petstore.db"),
		filepath.Join(mine, "folder"):    yours,
		filepath.Join(mine, "back"):      filepath.Join(yours, "to-mine"),
		filepath.Join(yours, "to-mine"):  "../" + filepath.Base(mine),
		filepath.Join(mine, "direct.db"): filepath.Join(mine, "petstore.db"),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, denied := range map[string]bool{
		filepath.Join(yours, "link.db"):            true,
		filepath.Join(below, "new.db"):             true,
		filepath.Join(mine, "folder/petstore.db"):  false,
		filepath.Join(mine, "back", "petstore.db"): true,
		filepath.Join(mine, "direct.db"):           false,
	} {
		got, failed := command(t, mine, "keys", "create", "x", "--store", "sqlite:"+path)
		if becomes := strings.Contains(got, "belongs to the user nobody, as whom this runs"); failed != denied || becomes == strings.HasSuffix(path, "direct.db") {
			t.Errorf("%s: got failure %v, want %v, and root to become nobody, but for its own link: %s", path, failed, denied, got)
		}
	}
	got, failed := command(t, yours, "serve", "--store", "sqlite:petstore.db", "--addr", "127.0.0.1:0")
	if !failed || !strings.Contains(got, "belongs to the user nobody: run the server as that user") {
		t.Errorf("serve: got %s, want a refusal", got)
	}
}

func owner(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
