//go:build faults

package sqlite

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strace returns a command that injects effect into a system call on a file.
func strace(call, effect, file string) []string {
	args := []string{"strace", "-f", "-qq", "-o", os.DevNull, "-P", file}
	return append(args, "-e", "trace="+call, "-e", "inject="+call+":"+effect)
}

// createUnder creates notes in a child under strace, and returns those acknowledged and its error.
func createUnder(t *testing.T, strace []string, args ...string) (l ledger, stderr string, err error) {
	cmd := child(t, strace, "create", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	l, err = ledger{}, cmd.Run()
	l.read(t, bufio.NewScanner(&out), math.MaxInt)
	return l, errs.String(), err
}

// TestFaults makes system calls on a file fail while notes are created. No acknowledged note may be lost.
func TestFaults(t *testing.T) {
	const none, eio, folder = "", "disk I/O error", "/.."
	for _, c := range []struct {
		notes                int // that each of eight goroutines creates
		call, suffix, effect string
		want                 string // in the error with which the process ends, or none if it can carry on
	}{
		{150, "pwrite64", "-wal", "error=EIO:when=40+", "the disk is full or cannot be written"},
		{150, "pwrite64", "-wal", "error=EIO:when=40", none},
		{150, "fsync,fdatasync", "-wal", "error=EIO:when=20", eio},
		{150, "pwrite64", "", "error=EIO:when=20+", "the log could not be copied into the file: " + eio},
		{1, "fsync,fdatasync", "", "error=EIO", "the log could not be copied into the file: " + eio}, // by Close
		{150, "fsync,fdatasync", "", "error=EIO:when=1", "the log could not be copied into the file: " + eio},
		{150, "ftruncate", "", "error=EIO", eio},
		{150, "ftruncate", "-wal", "error=EIO", none},
		{150, "ftruncate", "-shm", "error=EIO", eio},
		{150, "pwrite64", "-shm", "error=EIO", "the disk is full or cannot be written"},
		{150, "unlink,unlinkat", "-wal", "error=EIO", none},
		{150, "?open,openat", "", "error=EIO", "input/output error"},
		{150, "?open", "", "error=EACCES:when=2", "the database is read-only"}, // SQLite's own, on amd64, after that of recoverLog
		{150, "?open,openat", "-shm", "error=EIO", "input/output error"},
		{150, "?stat,?newfstatat", "", "error=EACCES", "permission denied"},
		{150, "?open,openat", "-wal", "error=EACCES", "permission denied"},
		{150, "?open,openat", "-lock", "error=EACCES", "permission denied"},
		{1, "fsync,fdatasync", folder, "error=EIO", "input/output error"}, // a power cut could take a new file away
		{1, "fsync,fdatasync", folder, "error=EINVAL", none},              // some file systems cannot do it
		{1, "fsync,fdatasync", folder, "error=EOPNOTSUPP", none},
		{150, "pwrite64", "-wal", "error=ENOSPC:when=40+", "the disk is full"},
		{150, "pwrite64", "", "error=ENOSPC:when=20+", none},
	} {
		t.Run(fmt.Sprint(c.call, c.suffix, " ", c.effect), func(t *testing.T) {
			t.Parallel()
			path := atRest(t, "first")
			file := filepath.Clean(path + c.suffix)
			l, stderr, err := createUnder(t, strace(c.call, c.effect, file), path, strconv.Itoa(c.notes))
			failed := strings.Contains(stderr, "can no longer be written to") // a write that is refused is none
			ok := c.want != none && err != nil || c.want == none && !failed && len(l) > 0
			assert.True(t, ok, "got %d notes, exit %v and %q, want a failure, or no end of writing", len(l), err, stderr)
			assert.Contains(t, stderr, c.want)
			isEIO, log := strings.Contains(c.want, eio), contents(t, path)["-wal"]
			assert.True(t, !isEIO || len(l) == 0 || log != "", "got no log, want it left as it was")
			got := l.check(t, path)
			ok = c.call != "pwrite64" || isEIO || got == 1+len(l)
			assert.True(t, ok, "got %d notes, want the first and the %d acknowledged", got, len(l))
		})
	}
}

// TestRefusedIsNotThere makes one write to the log fail and kills the process: the note must not be there.
func TestRefusedIsNotThere(t *testing.T) {
	sound := atRest(t)
	for write := 1; write <= 40; write++ {
		path := copyOf(t, sound)
		l, _, err := createUnder(t, strace("pwrite64", fmt.Sprintf("error=EIO:when=%d", write), path+"-wal"), path, "20", "exit")
		require.NoError(t, err, "write %d", write)
		assert.Equal(t, len(l), l.check(t, path), "write %d: notes, all acknowledged", write)
	}
}

// TestUnchanged checks that Open changes nothing if it cannot rewrite the log of a killed process.
func TestUnchanged(t *testing.T) {
	path, l := killed(t)
	for _, call := range []string{"pwrite64", "fsync"} {
		cmd := child(t, strace(call, "error=EIO", path+"-wal"), "create", path, "1")
		wantUnchanged(t, path, func() { wantRun(t, cmd, false, path+": ") })
		wantFiles(t, path, "notes.db", "notes.db-lock", "notes.db-shm", "notes.db-wal")
	}
	l.check(t, path)
}

// TestSynced checks that a copy is on disk before it has its name, and its name before the command
// ends. A kill leaves all or nothing, and a power cut any part of what was not synced.
func TestSynced(t *testing.T) {
	call := regexp.MustCompile(`(?m)^\d+ +(fsync|unlink|rename)\w*\((?:AT_FDCWD<[^>]*>, )?(?:\d+<|")(?:[^">]*/)?([^/">]+)[">].*= 0$`)
	const want = `fsync \.notes\.db\.\d+, rename \.notes\.db\.\d+, fsync \d+$` // of the folder
	for _, name := range []string{"backup", "restore"} {
		from, target, trace := backupOf(t, "a"), newPath(t), filepath.Join(t.TempDir(), "trace")
		traced := []string{
			"strace", "-f", "-y", "-qq", "-o", trace, "-e", "signal=none", // which would cut the line of a call in two
			"-e", "trace=fsync,?unlink,unlinkat,?rename,renameat,renameat2",
		}
		wantRun(t, child(t, traced, name, from, target), true, "1")
		content, _ := os.ReadFile(trace)
		var calls []string
		for _, c := range call.FindAllStringSubmatch(string(content), -1) {
			calls = append(calls, c[1]+" "+c[2])
		}
		assert.Regexp(t, want, strings.Join(calls, ", "), name)
		target = newPath(t) // whose folder cannot be synced
		failing := strace("fsync,fdatasync", "error=EIO", filepath.Dir(target))
		wantRun(t, child(t, failing, name, from, target), false, "but a power cut may undo that")
	}
}

// mounting returns a command that runs a shell script with a path, in which it may mount.
func mounting(script, path string) []string {
	flags := "-m"
	if os.Getuid() != 0 {
		flags = "-rm"
	}
	return []string{"unshare", flags, "sh", "-c", script, path}
}

// TestFullDisk checks that a full disk, also after a kill, rejects writes only.
func TestFullDisk(t *testing.T) {
	out, err := child(t, mounting(`
		cd "$0" && mount -t tmpfs -o size=1m tmpfs . && cd "$0" && "$1" notes.db 1 > made || exit
		cat /dev/zero > filler
		"$1" notes.db 1
		"$1" notes.db 1 exit
		SQLITE_TEST_CHILD=list "$1" notes.db`, t.TempDir()), "create").CombinedOutput()
	refused := strings.Count(string(out), "\nthe disk is full or cannot be written")
	ok := err == nil && refused == 8 && strings.HasSuffix(string(out), "\n8")
	assert.True(t, ok, "got %s, error %v, want 8 refused writes and 8 notes", out, err)
}

// TestMount checks that a file that is a mount is rejected, unless it is a backup that is only read.
func TestMount(t *testing.T) {
	const refused = "it is a mount of its own"
	store, backup := atRest(t, "a"), filepath.Join(t.TempDir(), `a \b.db`) // a list of mounts escapes it
	_, err := schema.Backup(t.Context(), store, backup, false)
	require.NoError(t, err)
	for _, c := range []struct {
		mounted string
		work    []string // and its arguments
		want    string   // in the error, or ""
	}{
		{store, []string{"create", store, "1"}, refused},
		{store, []string{"verify", store, ""}, refused},
		{backup, []string{"verify", backup, ""}, ""},
		{backup, []string{"create", backup, "1"}, refused},
		{filepath.Dir(store), []string{"create", store, "1"}, ""},
	} {
		wrapper := mounting(`mount --bind "$0" "$0" && exec "$@"`, c.mounted)
		wantRun(t, child(t, wrapper, c.work[0], c.work[1:]...), c.want == "", c.want)
	}
}
