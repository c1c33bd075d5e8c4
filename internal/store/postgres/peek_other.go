//go:build !(linux || darwin || freebsd)

package postgres

import "net"

// hasNews cannot tell here: a statement sent on a connection that has ended has
// an unknown outcome, and is tried again.
func hasNews(net.Conn) bool { return false }
