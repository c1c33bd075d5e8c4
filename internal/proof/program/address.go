package program

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// FreeAddress returns an address with a free port, below the ephemeral ports.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// WaitFor waits until a program listens at addr.
func WaitFor(t testing.TB, addr string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("nothing listens at %s", addr)
}
