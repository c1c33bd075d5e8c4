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

	"example.com/petstore/internal/store/address"
)

// leaveRoot turns a process of root into one of the user to whom the folder of a file
// belongs, who could otherwise use links in it to have root change any file. It must run
// before any of the files is opened.
func leaveRoot(env *environment, files []string) error {
	o := otherOwner(files...)
	if o == nil {
		return nil
	}
	err := errors.Join(syscall.Setgroups(o.groups), syscall.Setgid(o.groups[0]), syscall.Setuid(o.uid))
	if err != nil {
		return fmt.Errorf("%s belongs to the user %s, whom root cannot become: %w", o.path, o.name, err)
	}
	fmt.Fprintf(env.stderr, "%s belongs to the user %s, as whom this runs\n", o.path, o.name)
	return nil
}

// refuseRoot returns an error if root is to serve a store in a folder of another user.
// The server may need root's rights, for its port or its certificate.
func refuseRoot(store address.Address) error {
	if o := otherOwner(store.Path); store.Kind == "sqlite" && o != nil {
		return fmt.Errorf("%s belongs to the user %s: run the server as that user, for example with runuser -u %s --",
			o.path, o.name, o.name)
	}
	return nil
}

// owner is the owner of a directory or a link.
type owner struct {
	path   string
	name   string // or the uid, if the system does not know the user
	uid    int
	groups []int // the user's own first
}

// otherOwner returns the first owner other than root of a directory or a symbolic link
// on the ways from the root directory to paths, or nil if this is not a process of root.
func otherOwner(paths ...string) *owner {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, path := range paths {
		path, _ := filepath.Abs(path) // if it fails, so does opening the file
		dir, rest := "/", strings.Split(path, "/")
		for links := 0; len(rest) > 0 && links < 256; { // as many as filepath.EvalSymlinks follows
			next := filepath.Join(dir, rest[0])
			rest = rest[1:]
			info, err := os.Lstat(next)
			if err != nil || info.Mode().IsRegular() {
				break
			}
			if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 {
				return newOwner(next, s)
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				dir = next
				continue
			}
			links++
			target, _ := os.Readlink(next)
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		}
	}
	return nil
}

func newOwner(path string, s *syscall.Stat_t) *owner {
	o := &owner{path: path, name: strconv.Itoa(int(s.Uid)), uid: int(s.Uid), groups: []int{int(s.Gid)}}
	u, err := user.LookupId(o.name)
	if err != nil {
		return o
	}
	o.name, o.groups = u.Username, nil
	others, _ := u.GroupIds() // at least u.Gid is known
	for _, id := range append([]string{u.Gid}, others...) {
		if gid, err := strconv.Atoi(id); err == nil {
			o.groups = append(o.groups, gid)
		}
	}
	return o
}
