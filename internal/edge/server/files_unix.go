//go:build unix

package server

import "syscall"

// openFiles returns how many files the process may have open, and whether that is
// known. Go has raised it as far as it may.
func openFiles() (n int, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(uint64(limit.Cur), 1<<31-1)), true
}
