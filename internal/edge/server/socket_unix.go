//go:build unix

package server

import (
	"net"
	"syscall"

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

// socketOf returns the socket of a connection for hasLeft; nil where that cannot
// tell.
func socketOf(c net.Conn) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	socket, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return socket
}

// hasLeft reports whether the client has ended the connection and nothing of what it
// sent before is left to read.
func hasLeft(socket syscall.RawConn) (left bool) {
	_ = socket.Control(func(fd uintptr) { // it fails where the connection is closed here
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch err {
		case nil:
			left = n == 0
		case unix.EAGAIN, unix.EINTR:
		default:
			left = true // reset, or timed out
		}
	})
	return left
}
