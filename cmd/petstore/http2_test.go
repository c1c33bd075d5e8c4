package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawHTTP2 is a client that writes and reads single frames.
type rawHTTP2 struct {
	*http2.Framer
	conn   *tls.Conn
	header bytes.Buffer
	fields *hpack.Encoder
	stream uint32 // of the next request
}

// dialHTTP2 opens a connection that the end of the test closes, and greets.
func dialHTTP2(t *testing.T, p *process, settings ...http2.Setting) *rawHTTP2 {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.base, "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(giveUp)); err != nil {
		t.Fatal(err)
	}
	c := &rawHTTP2{Framer: http2.NewFramer(conn, conn), conn: conn, stream: 1}
	c.fields = hpack.NewEncoder(&c.header)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return c
}

// begin sends the header of a GET, and returns its stream. An error means that
// the server has ended the connection.
func (c *rawHTTP2) begin(path, key string, whole bool) (uint32, error) {
	c.header.Reset()
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "petstore"}, {":path", path}, {"authorization", "Bearer " + key}} {
		_ = c.fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a buffer takes everything
	}
	stream := c.stream
	c.stream += 2
	return stream, c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.header.Bytes(), EndStream: true, EndHeaders: whole})
}

// readUntil reads frames until one of this kind, and fails the test where none
// comes.
func (c *rawHTTP2) readUntil(t *testing.T, wanted http2.FrameType) http2.Frame {
	t.Helper()
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("frames: got %v, want one of %v", err, wanted)
		}
		if frame.Header().Type == wanted {
			return frame
		}
	}
}

// drained reads whatever comes until the connection ends, and reports the code
// of its GOAWAY.
func (c *rawHTTP2) drained() (code http2.ErrCode, goneAway bool) {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return code, goneAway
		}
		if f, ok := frame.(*http2.GoAwayFrame); ok {
			code, goneAway = f.ErrCode, true
		}
	}
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory that the process has had, in bytes.
func (p *process) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.ParseInt(string(peakMemory.FindSubmatch(text)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// mostMemory bounds the server under each attack. Without bounds each would take
// gigabytes; the race detector takes several times the memory of the program.
const mostMemory = 512 << 20

// survived fails the test unless the server is as useful as before.
func (p *process) survived(t *testing.T) {
	t.Helper()
	var made, got pet
	if _, err := p.call("POST", "/v1/pets", pet{Name: "Frank", CategoryID: 1, Status: "available"}, &made); err != nil {
		t.Errorf("a healthy client's POST: got %v, want 201", err)
	}
	if _, err := p.call("GET", fmt.Sprintf("/v1/pets/%d", made.ID), nil, &got); err != nil || got != made {
		t.Errorf("a healthy client's GET: got %v (%v), want %v", got, err, made)
	}
	if peak := p.peak(t); peak > mostMemory {
		t.Errorf("memory: got %d MiB, want at most %d", peak>>20, mostMemory>>20)
	}
}

func TestHTTP2IsToldGOAWAYByAServerThatEnds(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:")
	c := dialHTTP2(t, p)
	if _, err := c.begin("/v1/pets", processKey, true); err != nil {
		t.Fatal(err)
	}
	c.readUntil(t, http2.FrameData)
	p.signal(t, syscall.SIGTERM)
	if f := c.readUntil(t, http2.FrameGoAway).(*http2.GoAwayFrame); f.ErrCode != http2.ErrCodeNo || f.LastStreamID != 1 {
		t.Errorf("GOAWAY: got code %v after stream %d, want no error after stream 1", f.ErrCode, f.LastStreamID)
	}
	if state := p.wait(t); state.ExitCode() != 0 {
		t.Errorf("exit: got %v, want status 0", state)
	}
}

func TestHTTP2IsToldGOAWAYWithAResponseOfADrainingServer(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:", "--drain", "1h")
	c := dialHTTP2(t, p)
	p.signal(t, syscall.SIGTERM)
	p.waitFor(t, `"msg":"stopping`)
	if _, err := c.begin("/v1/pets", processKey, true); err != nil {
		t.Fatal(err)
	}
	seen := map[http2.FrameType]bool{}
	for !seen[http2.FrameGoAway] || !seen[http2.FrameHeaders] {
		frame, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("frames: got %v after %v, want a response and GOAWAY", err, seen)
		}
		seen[frame.Header().Type] = true
	}
}

func TestStreamsThatAreResetAtOnceHoldUpNobody(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:")
	for range 4 {
		c := dialHTTP2(t, p)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.drained()
		}()
		for range 20_000 {
			stream, err := c.begin("/v1/pets?limit=100", processKey, true)
			if err != nil || c.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
				break // the server has had enough
			}
		}
		p.survived(t)
		_ = c.conn.Close()
		<-ended
	}
}

func TestAHeaderThatNeverEndsEndsItsConnection(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:")
	c := dialHTTP2(t, p)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.drained()
	}()
	stream, err := c.begin("/v1/pets", "no-key", false)
	if err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	fields := hpack.NewEncoder(&block)
	_ = fields.WriteField(hpack.HeaderField{Name: "x-fill", Value: strings.Repeat("x", 12<<10), Sensitive: true})
	sent := 0
	for ; sent < 64<<20; sent += block.Len() {
		if err := c.WriteContinuation(stream, false, block.Bytes()); err != nil {
			break
		}
	}
	if sent >= 64<<20 {
		t.Error("a header of 64 MiB: got all of it taken, want the end of the connection")
	}
	p.survived(t)
	<-ended
}

func TestAClientThatTakesNoBytesOfItsResponsesHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:")
	for range 100 {
		var made pet
		if _, err := p.call("POST", "/v1/pets", pet{Name: strings.Repeat("x", 65_000), CategoryID: 1, Status: "available"}, &made); err != nil {
			t.Fatal(err)
		}
	}
	noWindow := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}
	statuses := map[string]int{}
	for range 4 {
		c := dialHTTP2(t, p, noWindow)
		for range 50 {
			if _, err := c.begin("/v1/pets?limit=100", processKey, true); err != nil {
				t.Fatal(err)
			}
		}
		decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
			if f.Name == ":status" {
				statuses[f.Value]++
			}
		})
		for range 50 {
			if _, err := decoder.Write(c.readUntil(t, http2.FrameHeaders).(*http2.HeadersFrame).HeaderBlockFragment()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if statuses["200"]+statuses["503"] != 200 || statuses["503"] == 0 {
		t.Errorf("statuses of 200 large pages: got %v, want some 200 and the others 503", statuses)
	}
	p.survived(t)
}

func TestAConnectionHasABoundedNumberOfStreams(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:")
	c := dialHTTP2(t, p)
	settings := c.readUntil(t, http2.FrameSettings).(*http2.SettingsFrame)
	for id, want := range map[http2.SettingID]uint32{http2.SettingMaxConcurrentStreams: 100, http2.SettingMaxFrameSize: 16 << 10, http2.SettingInitialWindowSize: 64 << 10} {
		if got, _ := settings.Value(id); got != want {
			t.Errorf("%v: got %d, want %d", id, got, want)
		}
	}
}
