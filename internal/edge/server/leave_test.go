package server

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const (
	slowGet  = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
	slowPost = "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	quickGet = "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
)

func TestARequestEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"a GET":                           slowGet,
		"a POST":                          slowPost,
		"after another on the connection": quickGet + slowPost,
	} {
		for how, leave := range map[string]func(net.Conn) error{
			"closes": net.Conn.Close,
			"resets": func(c net.Conn) error {
				_ = c.(*net.TCPConn).SetLinger(0)
				return c.Close()
			},
			"sends no more": func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
		} {
			t.Run(name+" whose client "+how, func(t *testing.T) {
				t.Parallel()
				begun, left := make(chan struct{}), make(chan struct{})
				s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if r.URL.Path == "/slow" {
						close(begun)
						<-r.Context().Done()
						close(left)
					}
				}))
				conn, _ := dial(t, s)
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				<-begun
				if err := leave(conn); err != nil {
					t.Fatal(err)
				}
				select {
				case <-left:
				case <-time.After(patience):
					t.Error("got the request still worked on, want it ended by now")
				}
			})
		}
	}
}
