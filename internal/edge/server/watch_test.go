package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// working runs a server whose requests of /slow last until their clients leave, or
// until finish is closed, and tell which it was.
func working(t *testing.T) (s *Server, begun chan struct{}, finish chan struct{}, left chan bool) {
	t.Helper()
	begun, finish, left = make(chan struct{}, 10), make(chan struct{}), make(chan bool, 10)
	s = start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/slow" {
			begun <- struct{}{}
			select {
			case <-r.Context().Done():
				left <- true
			case <-finish:
				left <- false
			}
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	return s, begun, finish, left
}

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
				s, begun, _, left := working(t)
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

func TestAClientThatStaysIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		requests string
		end      bool // the client then sends no more
		want     []string
	}{
		"it waits":                          {slowPost, false, []string{"/slow"}},
		"its next requests wait":            {slowPost + quickGet + quickGet, false, []string{"/slow", "/quick", "/quick"}},
		"its next requests wait, the last":  {slowGet + quickGet, true, []string{"/slow", "/quick"}},
		"its next has a body, and it waits": {slowGet + strings.ReplaceAll(slowPost, "slow", "quick"), false, []string{"/slow", "/quick"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, begun, finish, left := working(t)
			conn, rest := dial(t, s)
			if _, err := io.WriteString(conn, test.requests); err != nil {
				t.Fatal(err)
			}
			if test.end {
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			<-begun
			time.Sleep(3 * watchPoll) // it is looked at meanwhile
			close(finish)
			if <-left {
				t.Error("got a client taken for one that left, want it served")
			}
			for _, want := range test.want {
				response, err := http.ReadResponse(rest, nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(response.Body); err != nil || string(body) != want {
					t.Errorf("got %q (%v), want %q", body, err, want)
				}
			}
		})
	}
}

// TestAReaderOfSingleBytesGetsThem holds the watch to readers that are not net/http's
// watch.
func TestAReaderOfSingleBytesGetsThem(t *testing.T) {
	t.Parallel()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	client, err := net.Dial("tcp", port.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := port.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{Conn: accepted, framing: new(framing), socket: socketOf(accepted)}
	defer c.Close()
	if _, err := io.WriteString(client, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(iotest.OneByteReader(c), got); err != nil || string(got) != "hello" {
		t.Errorf("got %q (%v), want hello", got, err)
	}
}
