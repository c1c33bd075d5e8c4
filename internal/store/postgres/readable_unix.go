//go:build linux || darwin || freebsd

package postgres

import (
	"crypto/tls"
	"net"
	"syscall"
)

// readable reports whether data has arrived on an idle connection, where none is
// expected: mostly its end. A statement sent on such a connection would have an
// unknown outcome, so the pool pings it before. This costs one system call; a
// ping for each statement would cost a round trip.
func readable(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	found := true
	// Control and not Read, which would wait for the poller.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		found = err != syscall.EAGAIN
	})
	return found || err != nil
}
