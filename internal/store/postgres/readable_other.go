//go:build !linux && !darwin && !freebsd

package postgres

import "net"

func readable(net.Conn) bool { return false }
