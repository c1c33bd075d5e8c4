//go:build linux || darwin || freebsd

package primary

import (
	"crypto/tls"
	"net"
	"syscall"
)

// readable reports whether data has arrived on an idle connection, where nothing
// is expected: mostly its end. A statement sent on such a connection would have
// an unknown outcome; the pool pings it first. This costs one system call, and a
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
	// Not by Read, which would wait: pgx may have a reader of its own waiting on
	// the connection since a write took long.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		found = err != syscall.EAGAIN
	})
	return found || err != nil
}
