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

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store/address"
)

// leaveRoot turns a process of root into one of the user to whom the folder of the
// store belongs, who could otherwise use links in it to have root change any file. It
// must run before any of the files is opened.
func leaveRoot(cmd *cobra.Command, args []string, env environment) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var owners []owner
	for _, f := range addressFlags(cmd) {
		if path, ok := address.SQLitePath(f.Value.String()); ok {
			owners = append(owners, ownersOf(path)...)
		}
	}
	if len(owners) == 0 && strings.HasSuffix(cmd.Use, " FILE") {
		owners = ownersOf(args[0])
	}
	if len(owners) == 0 {
		return nil
	}
	o := owners[0]
	for _, other := range owners {
		if other.uid != o.uid {
			return fmt.Errorf("%s and %s belong to different users: run this as one of them, not as root", o.path, other.path)
		}
	}
	name, groups := o.lookUp()
	err := syscall.Setgroups(groups)
	if err == nil {
		err = syscall.Setgid(groups[0])
	}
	if err == nil {
		err = syscall.Setuid(o.uid)
	}
	if err != nil {
		return fmt.Errorf("%s belongs to the user %s, whom root cannot become: %w", o.path, name, err)
	}
	fmt.Fprintln(env.stderr, printable(o.path+" belongs to the user "+name+", as whom this runs"))
	return nil
}

// refuseRoot returns an error if root is to serve a store in a folder of another user.
// The server may need root's rights, for its port or its certificate.
func refuseRoot(addr string) error {
	path, ok := address.SQLitePath(addr)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	owners := ownersOf(path)
	if len(owners) == 0 {
		return nil
	}
	name, _ := owners[0].lookUp()
	return fmt.Errorf("%s belongs to the user %s: run the server as that user, for example with runuser -u %s --",
		owners[0].path, name, name)
}

// owner is the owner of a directory or a link.
type owner struct {
	uid, gid int
	path     string
}

// lookUp returns the name and the groups of the user, first the user's own, or the
// number and the group of the directory if the system does not know the user.
func (o owner) lookUp() (name string, groups []int) {
	u, err := user.LookupId(strconv.Itoa(o.uid))
	if err != nil {
		return strconv.Itoa(o.uid), []int{o.gid}
	}
	ids, _ := u.GroupIds() // at least u.Gid is known
	for _, id := range append([]string{u.Gid}, ids...) {
		if gid, err := strconv.Atoi(id); err == nil {
			groups = append(groups, gid)
		}
	}
	return u.Username, groups
}

// ownersOf returns the owners, but for root, of all directories and symbolic links on
// the way from the root directory to the file at path, as far as they exist.
func ownersOf(path string) (owners []owner) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil // opening it fails too
	}
	dir, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0 && links < 256; {
		next := filepath.Join(dir, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil || info.Mode().IsRegular() {
			break
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != 0 {
			owners = append(owners, owner{int(s.Uid), int(s.Gid), next})
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
	return owners
}
