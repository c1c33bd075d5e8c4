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

// refuseRoot returns an error if root works on a file in a folder of another user, who
// could use links there to have root change any file.
func refuseRoot(env *environment, file string) error {
	if !env.root || file == "" {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	path, uid := otherOwner(path)
	if uid == 0 {
		return nil
	}
	name := strconv.Itoa(int(uid))
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Errorf("%s belongs to the user %s: run this as that user, not as root, with: runuser -u %s --", path, name, name)
}

// otherOwner returns the first directory or symbolic link on the way to an absolute path
// that does not belong to root, and its owner, or 0 if there is none.
func otherOwner(path string) (string, uint32) {
	dir := filepath.Dir(path)
	if dir != path {
		if other, uid := otherOwner(dir); uid != 0 {
			return other, uid
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().IsRegular() {
		return "", 0
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		return path, uid
	}
	target, err := os.Readlink(path)
	if err != nil { // it is no link
		return "", 0
	}
	if _, err := os.Stat(path); errors.Is(err, syscall.ELOOP) { // the link leads to itself
		return "", 0
	}
	if !filepath.IsAbs(target) {
		dir, _ = filepath.EvalSymlinks(dir) // it exists, as path does
		target = filepath.Join(dir, target)
	}
	return otherOwner(target)
}
