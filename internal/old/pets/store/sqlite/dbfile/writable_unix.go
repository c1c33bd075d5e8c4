//go:build unix

package dbfile

import "golang.org/x/sys/unix"

// writable returns why this user may not write to the file or folder of that
// name, or nil. A read-only file system counts.
func writable(name string) error { return unix.Access(name, unix.W_OK) }
