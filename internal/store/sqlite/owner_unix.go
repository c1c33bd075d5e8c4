//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// identity returns how many names a file has, and its owner.
func identity(info fs.FileInfo) (names uint64, uid, gid int) {
	s := info.Sys().(*syscall.Stat_t)
	return uint64(s.Nlink), int(s.Uid), int(s.Gid)
}
