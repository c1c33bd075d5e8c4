package server

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestWithoutAKeyHTTP2IsReadAtAPace(t *testing.T) {
	const size = 64 << 10
	for name, test := range map[string]struct {
		change func(*conn)
		want   time.Duration
	}{
		"without a key":                       {func(*conn) {}, (size - keylessBurst) * time.Second / keylessPace},
		"with a key":                          {func(c *conn) { c.trusted.Store(true) }, 0},
		"with a key that comes after 1 s":     {func(c *conn) { time.AfterFunc(time.Second, func() { c.trusted.Store(true) }) }, time.Second},
		"with a key, after too many resets":   {func(c *conn) { c.trusted.Store(true); c.http2.Load().tooMany.Store(true) }, (size - keylessBurst) * time.Second / keylessPace},
		"by HTTP/1, which needs no such pace": {func(c *conn) { c.http2.Store(nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, client := net.Pipe()
				c := &conn{Conn: ours}
				c.http2.Store(newHTTP2Pace())
				test.change(c)
				go func() {
					_, _ = client.Write(make([]byte, size))
					_ = client.Close()
				}()
				start := time.Now() // of the bubble: its clock stands still while anything runs
				if n, err := io.Copy(io.Discard, struct{ io.Reader }{c}); n != size || err != nil {
					t.Fatalf("got %d bytes (%v), want %d", n, err, size)
				}
				if took := time.Since(start); took < test.want || took > test.want+keylessBurst*time.Second/keylessPace+pacePoll {
					t.Errorf("64 KiB: got them after %v, want some %v", took, test.want)
				}
			})
		})
	}
}

// http2Client writes and reads single frames.
type http2Client struct {
	*http2.Framer
	conn   *tls.Conn
	stream uint32 // of the last request
}

func dialHTTP2(t *testing.T, s *Server) *http2Client {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &http2Client{Framer: http2.NewFramer(conn, conn), conn: conn}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// fields is the header of a request, encoded without reference to another one.
func fields(path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a buffer takes everything
	}
	return block.Bytes()
}

// begin sends the header of a request, and returns its stream.
func (c *http2Client) begin(path string, whole bool) uint32 {
	if c.stream++; c.stream%2 == 0 {
		c.stream++
	}
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: fields(path), EndStream: true, EndHeaders: whole}) // a read tells
	return c.stream
}

// await reads frames until one is wanted; nil is the end of the connection.
func (c *http2Client) await(t *testing.T, wanted func(http2.Frame) bool) http2.Frame {
	t.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(patience + readTimeout)); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := c.ReadFrame()
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Fatal("got neither the frame nor the end of the connection")
		}
		if err != nil {
			return nil
		}
		if ping, ok := frame.(*http2.PingFrame); ok && !ping.IsAck() {
			_ = c.WritePing(true, ping.Data) // the connection may have ended
		}
		if wanted(frame) {
			return frame
		}
	}
}

func TestStreamsThatAreResetTooOftenEndTheirConnectionByGOAWAY(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/key":
			Trust(r.Context())
		case "/slow":
			<-r.Context().Done()
		}
	}), withTLS(t, t.TempDir()))
	for name, end := range map[string]func(*http2Client, uint32) error{
		"by the client": func(c *http2Client, stream uint32) error { return c.WriteRSTStream(stream, http2.ErrCodeCancel) },
		"by the server, which is provoked": func(c *http2Client, stream uint32) error {
			return c.WriteRawFrame(http2.FrameWindowUpdate, 0, stream, make([]byte, 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialHTTP2(t, s)
			c.begin("/key", true)
			var goAway *http2.GoAwayFrame
			for reset := 0; goAway == nil && reset < 50*maxResets; reset += 20 {
				for range 20 {
					if err := end(c, c.begin("/slow", true)); err != nil {
						break // a read tells why
					}
				}
				_ = c.WritePing(false, [8]byte{1})
				frame := c.await(t, func(f http2.Frame) bool {
					ping, ok := f.(*http2.PingFrame)
					return ok && ping.IsAck() || f.Header().Type == http2.FrameGoAway
				})
				if frame == nil {
					t.Fatal("got the end of the connection, want a GOAWAY first")
				}
				goAway, _ = frame.(*http2.GoAwayFrame)
			}
			if goAway == nil || goAway.ErrCode != http2.ErrCodeNo {
				t.Fatalf("got %v, want a GOAWAY without an error", goAway)
			}
			if c.await(t, func(http2.Frame) bool { return false }) != nil {
				t.Error("after GOAWAY: got the connection open, want its end")
			}
		})
	}
}

func TestAHeaderThatDripsOverHTTP2EndsItsConnection(t *testing.T) {
	t.Parallel()
	s := start(t, respond, withTLS(t, t.TempDir()))
	for name, drip := range map[string]func(*http2Client) error{
		"in a frame": func(c *http2Client) error {
			_, err := c.conn.Write([]byte{0})
			return err
		},
		"in frames": func(c *http2Client) error { return c.WriteContinuation(c.stream, false, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialHTTP2(t, s)
			c.begin("/", true)
			if f := c.await(t, func(f http2.Frame) bool { return f.Header().Type == http2.FrameHeaders }); f == nil {
				t.Fatal("got no response, want one")
			}
			if name == "in a frame" { // a frame of 1,000 bytes, whose header alone comes at once
				if _, err := c.conn.Write([]byte{0, 3, 232, byte(http2.FrameHeaders), 0, 0, 0, 0, 3}); err != nil {
					t.Fatal(err)
				}
			} else {
				c.begin("/", false)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, c.conn)
			}()
			const most = 40 * time.Second // a connection without a request would have two minutes
			for begin := time.Now(); time.Since(begin) < most; {
				select {
				case <-ended:
					return
				case <-time.After(100 * time.Millisecond):
					_ = drip(c) // the connection may have ended
				}
			}
			t.Errorf("a header that drips: got the connection open after %v, want its end after %v", most, readTimeout)
		})
	}
}
