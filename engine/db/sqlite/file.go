package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/petstore/engine/db"
)

// The suffixes of the files beside the database.
const (
	logSuffix     = "-wal"
	indexSuffix   = "-shm" // of the log
	lockSuffix    = "-lock"
	journalSuffix = "-journal" // of a file without a log
)

var suffixes = []string{logSuffix, indexSuffix, lockSuffix, journalSuffix}

// resolve returns the full path without symbolic links, where SQLite puts its other
// files. It rejects every path that cannot be a database's. The file need not exist.
func resolve(path string) (file string, err error) {
	defer func() { err = explain(path, err) }()
	if path == "" || path == "-" || strings.HasPrefix(path, ":") { // to SQLite, "" and : are not files
		return "", errors.New("it is not a file name; give the path of a file, such as ./- for one called -")
	}
	name, err := filepath.Abs(path)
	if err == nil {
		file, err = filepath.EvalSymlinks(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Readlink(name); err == nil {
			return "", errors.New("it is a symbolic link to nothing")
		}
		file, err = filepath.EvalSymlinks(filepath.Dir(name))
		file = filepath.Join(file, filepath.Base(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("its folder does not exist")
	}
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	for _, suffix := range suffixes {
		if strings.HasSuffix(file, suffix) {
			return "", fmt.Errorf("a name that ends in %s is that of a file of a store", suffix)
		}
	}
	return file, nil
}

// checkFile rejects a file that SQLite would open with the wrong log or without its log. The log's path
// depends on the name, so a file must have only one. An empty file counts as missing.
func checkFile(file string) error {
	for _, suffix := range suffixes { // SQLite rejects links too, but does not say why
		if info, err := os.Lstat(file + suffix); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s beside it is not a regular file; remove it", file+suffix)
		}
	}
	log, err := os.Stat(file + logSuffix)
	holdsLog := err == nil && log.Size() > 0
	info, err := os.Stat(file)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	switch {
	case err != nil && !missing:
		return err
	case err == nil && info.Sys().(*syscall.Stat_t).Nlink > 1:
		return fmt.Errorf("it has several names (hard links), and stores opened under different names would destroy "+
			"each other's rows; remove all names but one: find . -xdev -samefile %s", filepath.Base(file))
	case missing && holdsLog:
		return fmt.Errorf("it is missing or empty, but its log %s %w", file+logSuffix, db.ErrLoneLog)
	case holdsLog && isBackup(file):
		return fmt.Errorf("it is a backup, but its log %s %w of another database", file+logSuffix, db.ErrLoneLog)
	case logTaken(file) && !missing && !isBackup(file):
		return fmt.Errorf("its log %s was taken away, since the log's index %s is there; put the log back or, "+
			"if it was empty or another program has copied it into the file, remove the index", file+logSuffix, file+indexSuffix)
	case isMount(file):
		return errMounted
	case missing:
		return fmt.Errorf("%w at %s", db.ErrNone, file)
	}
	return nil
}

// checkReadable rejects a file of another account, unless it is a backup: SQLite may leave files
// beside it, which its owner could not open.
func checkReadable(file string) error {
	err := checkFile(file)
	if isBackup(file) && (err == nil || errors.Is(err, errMounted)) {
		return nil
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return errors.New("it belongs to another account, which could not open what this one leaves beside it; " +
			"run this as its owner, chown it if it has the wrong one, or read a backup")
	}
	return nil
}

// logTaken reports whether the log is missing, but not its index: SQLite makes the log first, and
// removes the index first.
func logTaken(file string) bool {
	_, before := os.Stat(file + indexSuffix)
	_, log := os.Stat(file + logSuffix)
	_, after := os.Stat(file + indexSuffix)
	return before == nil && errors.Is(log, fs.ErrNotExist) && after == nil
}

// isMount reports whether the file itself is mounted, and not only a folder above it. Only Linux lists
// mounts this way; see proc_pid_mountinfo(5).
func isMount(file string) bool {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	escaped := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(file)
	return strings.Contains(string(mounts), " "+escaped+" ")
}

// isBackup reports whether the file uses no write-ahead log, like a backup never opened. See
// https://www.sqlite.org/fileformat2.html#file_format_version_numbers for its header.
func isBackup(file string) bool {
	var header [20]byte
	if f, err := os.Open(file); err == nil {
		_, _ = io.ReadFull(f, header[:])
		_ = f.Close()
	}
	return string(header[:16]) == "SQLite format 3\x00" && header[18] == 1 && header[19] == 1
}

// syncDir syncs the directory of a file. Some network file systems cannot do so and need not.
func syncDir(name string) error {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
