package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble calls f with a server and its listener in a bubble of synctest.
func inBubble(t *testing.T, f func(t *testing.T, s *Server, l *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), addr: &net.TCPAddr{}}
		s, _ := newServer(t, Options{Listener: l, Drain: 5 * time.Second})
		go func() { _ = s.serve() }()
		t.Cleanup(func() {
			_ = s.http.Close()
			time.Sleep(time.Hour) // until all goroutines have ended
		})
		f(t, s, l)
	})
}

// TestHeaderLimit checks the limit of a header: 16 KiB, and on a kept connection 20 KiB.
func TestHeaderLimit(t *testing.T) {
	sized := func(size int) string {
		return request("GET /ok", "X: "+strings.Repeat("x", size-len(request("GET /ok", "X: \r\n"))), "\r\n")
	}
	inBubble(t, func(t *testing.T, _ *Server, l *pipes) {
		for size, want := range map[int]int{16 << 10: 200, 16<<10 + 1: 431} {
			if got := roundTrip(l.dial(t), sized(size)); got != want {
				t.Errorf("%d bytes: got status %d, want %d", size, got, want)
			}
		}
		conn := l.dial(t)
		for _, c := range []struct{ size, want int }{{100, 200}, {16 << 10, 200}, {20<<10 + 1, 431}} {
			if got := roundTrip(conn, sized(c.size)); got != c.want {
				t.Errorf("%d bytes on a kept connection: got status %d, want %d", c.size, got, c.want)
			}
		}
	})
}

func TestConnectionLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server, l *pipes) {
		conns := make([]net.Conn, 1000)
		for i := range conns {
			conns[i] = l.dial(t)
			if got := roundTrip(conns[i], request("GET /ok")); got != 200 {
				t.Fatalf("got status %d, want 200", got)
			}
		}
		answered := make(chan int, 1)
		go func() { answered <- roundTrip(l.dial(t), request("GET /ok")) }()
		synctest.Wait()
		if len(answered) != 0 {
			t.Error("one more connection: got a response, want it to wait")
		}
		_ = conns[0].Close()
		synctest.Wait()
		if len(answered) != 1 || <-answered != 200 {
			t.Error("one more connection, after another ended: got no response, want 200")
		}
		go l.dial(t) // also waits
		synctest.Wait()
		begin := time.Now()
		if err := s.stop(t.Context(), nil); err != nil {
			t.Errorf("the stop: %v", err)
		}
		wantTime(t, begin, 0) // it does not wait until a connection ends
	})
}

// TestMaxConnections checks that the limit of open files bounds that of connections.
func TestMaxConnections(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }()
	for files, want := range map[uint64]int{64: 32, 100: 50, 1000: 936, 1100: 1000} {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		s, _ := newServer(t, Options{MaxConnections: 1000})
		if got := cap(s.connections); got != want {
			t.Errorf("%d files: got %d connections, want %d", files, got, want)
		}
	}
}

// TestTimeouts checks when a connection ends on which the client does not go on.
func TestTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		send   string
		status int
		after  time.Duration
	}{
		"a header":                        {"GET /ok HTTP/1.1\r\n", 0, 3 * time.Second},
		"a body":                          {request("POST /read", "Content-Length: 20\r\n") + "{", 408, 4 * time.Second},
		"a body that is not read":         {request("POST /refuse", "Content-Length: 20\r\n"), 401, 500 * time.Millisecond},
		"a chunked body that is not read": {request("POST /refuse", "Transfer-Encoding: chunked\r\n"), 401, 500 * time.Millisecond},
		"the next request":                {request("GET /ok"), 200, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *Server, l *pipes) {
				conn, begin := l.dial(t), time.Now()
				if got := roundTrip(conn, c.send); got != c.status {
					t.Errorf("got status %d, want %d", got, c.status)
				}
				_, _ = io.Copy(io.Discard, conn)
				wantTime(t, begin, c.after)
			})
		})
	}
	t.Run("reading the response", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *Server, l *pipes) {
			begin := time.Now()
			_, _ = io.WriteString(l.dial(t), request("GET /large"))
			<-s.options.Handler.(*testHandler).running // has failed to write
			wantTime(t, begin, 20*time.Second)
		})
	})
	// A client that does not read its response is no failure of the server.
	for path, fails := range map[string]bool{"/hang": true, "/large": false} {
		t.Run("the stop, "+path, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *Server, l *pipes) {
				conn, begin := l.dial(t), time.Now()
				_, _ = io.WriteString(conn, request("GET "+path))
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(Interrupted{syscall.SIGTERM})
				if err := s.stop(ctx, nil); (err != nil) != fails {
					t.Errorf("got error %v, want one: %v", err, fails)
				}
				_, _ = io.Copy(io.Discard, conn)
				wantTime(t, begin, 14*time.Second)
				close(s.options.Handler.(*testHandler).done)
			})
		})
	}
}

// TestBlockedLog checks that a log that nobody reads is noticed, and does not hold up
// the stop.
func TestBlockedLog(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server, _ *pipes) {
		r, w := io.Pipe()
		log := NewLogWriter(w, regexp.MustCompile(`psk_`))
		s.options.Logger = slog.New(slog.NewTextHandler(log, nil))
		for after, want := range map[time.Duration]bool{4 * time.Second: false, 6 * time.Second: true} {
			go s.options.Logger.Info("a line")
			time.Sleep(after)
			if got := log.Blocked(); got != want {
				t.Errorf("after %v: got blocked %v, want %v", after, got, want)
			}
			_, _ = r.Read(make([]byte, 1024))
			synctest.Wait()
			if log.Blocked() {
				t.Error("got blocked after the line was read")
			}
		}
		begin := time.Now()
		if err := s.stop(t.Context(), nil); err != nil {
			t.Errorf("the stop: %v", err)
		}
		wantTime(t, begin, time.Second)
		_ = r.Close()
	})
}

// TestSecrets checks that the log hides secrets, also one that begins with another.
func TestSecrets(t *testing.T) {
	var b bytes.Buffer
	log := NewLogWriter(&b, regexp.MustCompile(`key_\w+`), "first", "first-and-more")
	const line = "key_abc, first-and-more, first\n"
	if n, err := log.Write([]byte(line)); n != len(line) || err != nil || b.String() != "REDACTED, REDACTED, REDACTED\n" {
		t.Errorf("got %d, error %v, %q, want only REDACTED", n, err, &b)
	}
}

// wantTime checks that something ended after a time limit, and soon after it: net/http
// waits a little before it closes a connection.
func wantTime(t *testing.T, begin time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(begin); got < want || got > want+2*time.Second {
		t.Errorf("got %v, want %v, or up to 2 s more", got, want)
	}
}

// TestRefusalArrives sends a body that nobody reads, slowly. The connection must not be
// closed before it is sent.
func TestRefusalArrives(t *testing.T) {
	for _, headers := range []string{
		"Content-Length: 5\r\n", "Content-Length: 70000\r\n", // which is more than net/http reads before the response
		"Connection: close\r\nContent-Length: 40000\r\n", "Connection: close\r\nTransfer-Encoding: chunked\r\n",
	} {
		inBubble(t, func(t *testing.T, _ *Server, l *pipes) {
			conn := l.dial(t)
			go func() {
				for _, data := range []string{request("POST /refuse", headers), "4", "\r", "\n", "a"} {
					if _, err := io.WriteString(conn, data); err != nil {
						t.Errorf("%s: %v", headers, err)
					}
					time.Sleep(100 * time.Millisecond)
				}
				_ = conn.Close()
			}()
			if got := roundTrip(conn, ""); got != 401 {
				t.Errorf("%s: got status %d, want 401", headers, got)
			}
			_, _ = io.Copy(io.Discard, conn)
		})
	}
}
