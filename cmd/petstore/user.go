package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// refuseRoot returns an error if root works on a file in a folder that another user may
// change. A planted link could lead root to any file.
func refuseRoot(env *environment, file string) error {
	if !env.root || file == "" {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return checkWay(path)
}

// checkWay returns an error if another user than root may change a directory or a symbolic
// link on the way to an absolute path. In a sticky directory, such as /tmp, each user may
// change only their own files.
func checkWay(path string) error {
	dir := filepath.Dir(path)
	if dir != path {
		if err := checkWay(dir); err != nil {
			return err
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		name := strconv.Itoa(int(uid))
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return fmt.Errorf("%s belongs to the user %s: run this as that user, not as root, with: runuser -m -u %s -- setsid -w", path, name, name)
	}
	if info.IsDir() && info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("%s may be changed by others than root: chmod go-w %s, or use another folder", path, path)
	}
	target, err := os.Readlink(path)
	if err != nil { // it is no link
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, syscall.ELOOP) { // the link leads to itself
		return nil
	}
	if !filepath.IsAbs(target) {
		dir, _ = filepath.EvalSymlinks(dir) // it exists, as path does
		target = filepath.Join(dir, target)
	}
	return checkWay(target)
}
