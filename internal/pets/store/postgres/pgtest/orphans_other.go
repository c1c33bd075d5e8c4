//go:build unix && !linux

package pgtest

import "syscall"

// endWithTests can do nothing here: servers outlive a test binary that is killed.
func endWithTests(*syscall.SysProcAttr) {}
