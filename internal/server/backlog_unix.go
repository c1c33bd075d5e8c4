//go:build unix

package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// hasBacklog reports whether a connection waits to be accepted.
func hasBacklog(l *net.TCPListener) bool {
	raw, err := l.SyscallConn()
	if err != nil {
		return false
	}
	waiting := 0
	err = raw.Control(func(fd uintptr) {
		waiting, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) // 0 where it fails
	})
	return err == nil && waiting > 0
}
