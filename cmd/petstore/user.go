package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// leaveRoot turns a process of root into one of the user to whom the folder of a file
// belongs, who could otherwise use links in it to have root change any file. It must run
// before any file is opened.
func leaveRoot(env *environment, file string) error {
	path, owner := otherOwner(file)
	if owner == nil {
		return nil
	}
	uid, err1 := strconv.Atoi(owner.Uid)
	gid, err2 := strconv.Atoi(owner.Gid)
	groups := []int{gid}
	others, _ := owner.GroupIds() // the user's own is known
	for _, id := range others {
		if n, err := strconv.Atoi(id); err == nil {
			groups = append(groups, n)
		}
	}
	err := errors.Join(err1, err2)
	if err == nil {
		err = errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(uid))
	}
	if err != nil {
		return fmt.Errorf("%s belongs to the user %s, whom root cannot become: %w", path, owner.Username, err)
	}
	fmt.Fprintf(env.stderr, "%s belongs to the user %s, as whom this runs\n", path, owner.Username)
	return nil
}

// otherOwner returns the first directory or symbolic link on the way from the root
// directory to file that does not belong to root, and its owner. That is nil if there is
// none, or this is not a process of root.
func otherOwner(file string) (path string, owner *user.User) {
	if os.Geteuid() != 0 {
		return "", nil
	}
	file, _ = filepath.Abs(file) // if it fails, so does opening the file
	dir, rest := "/", strings.Split(file, "/")
	for links := 0; len(rest) > 0 && links < 256; { // as many as filepath.EvalSymlinks follows
		path := filepath.Join(dir, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(path)
		if err != nil || info.Mode().IsRegular() {
			break
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 {
			return path, userOf(s)
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
	return "", nil
}

// userOf returns the owner of a file, also if the system does not know that user.
func userOf(s *syscall.Stat_t) *user.User {
	id := strconv.Itoa(int(s.Uid))
	u, err := user.LookupId(id)
	if err != nil {
		return &user.User{Uid: id, Gid: strconv.Itoa(int(s.Gid)), Username: id}
	}
	return u
}
