//go:build !unix

package server

import (
	"net"
	"syscall"
)

// hasBacklog cannot tell here: a connection that comes in the moment in which the
// port is given up is reset.
func hasBacklog(*net.TCPListener) bool { return false }

// socketOf leaves it to net/http to notice that a client left.
func socketOf(net.Conn) syscall.RawConn { return nil }

func hasLeft(syscall.RawConn) bool { return false }
