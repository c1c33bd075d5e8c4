package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// refuseRoot returns an error if root works on a file in a folder of another user, who
// could use links there to have root change any file.
func refuseRoot(env *environment, file string) error {
	if !env.root || file == "" {
		return nil
	}
	path, uid := otherOwner(file)
	if uid == 0 {
		return nil
	}
	name := strconv.Itoa(int(uid))
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return fmt.Errorf("%s belongs to the user %s: run this as that user, not as root, with: runuser -u %s --", path, name, name)
}

// otherOwner returns the first directory or symbolic link on the way from the root
// directory to file that does not belong to root, and its owner, or 0 if there is none.
func otherOwner(file string) (path string, uid uint32) {
	file, _ = filepath.Abs(file) // if it fails, so does opening the file
	dir, rest := "/", strings.Split(file, "/")
	for links := 0; len(rest) > 0 && links < 256; { // as many as filepath.EvalSymlinks follows
		path := filepath.Join(dir, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(path)
		if err != nil || info.Mode().IsRegular() {
			break
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
			return path, owner
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			dir = path
			continue
		}
		links++
		target, _ := os.Readlink(path)
		if filepath.IsAbs(target) {
			dir = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return "", 0
}
