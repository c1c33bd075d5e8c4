//go:build linux || darwin || freebsd

package postgres

import (
	"crypto/tls"
	"net"
	"syscall"
)

// hasNews reports whether something has arrived on a connection that nobody
// expects anything on: mostly its end. A statement sent on such a connection
// would have an unknown outcome; asked first, it is not sent. This costs one
// system call, where asking the server would cost a round trip.
func hasNews(c net.Conn) bool {
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
	news := true
	// Not by Read, which waits for its turn: pgx may have a reader of its own
	// waiting on the connection since a write took long.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		news = err != syscall.EAGAIN
	})
	return news || err != nil
}
