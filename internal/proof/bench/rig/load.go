// Package rig measures over the loopback interface. It has servers in processes of
// their own, and a load that costs less than any of them.
//
// The load is not one of the well-known tools. wrk, in turns with it on one processor,
// cost the server as much for a get: 99 to 104 µs, beside 99 to 107 on that busy machine.
// But wrk runs for whole seconds, where rounds are to be short and many, compares no
// status, and cannot send each request once. The reader of responses is the open load's
// too, so wrk would replace 70 lines and need more. Tools on net/http's client cost more
// processor time than the servers they measure.
package rig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Result is the outcome of one load.
type Result struct {
	Requests  int
	PerSecond float64
	Median    time.Duration
	P99       time.Duration
	CPU       time.Duration // processor time of the server, a request; 0 outside Linux
}

// Load describes a load: every connection waits for a response before it sends
// the next request.
type Load struct {
	Requests    [][]byte      // taken in turns by all connections together
	Status      string        // the status of every response, or its beginning
	Connections int           // at least 1
	Duration    time.Duration // how long the requests are repeated; 0 sends each of them once
}

// Run loads s and fails where a response has another status.
func (l Load) Run(s *Server) (Result, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		errs  []error
	)
	cpu, start := s.ProcessorTime(), time.Now()
	for i := range l.Connections {
		wg.Go(func() {
			own, err := l.drive(s.Addr, i, start)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, own...)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return Result{}, err
	}
	slices.Sort(times)
	return Result{
		Requests:  len(times),
		PerSecond: float64(len(times)) / took.Seconds(),
		Median:    times[len(times)/2],
		P99:       times[len(times)*99/100],
		CPU:       (s.ProcessorTime() - cpu) / time.Duration(len(times)),
	}, nil
}

// ExchangedBytes returns the bytes of a request and its response.
func ExchangedBytes(s *Server, request []byte) (int64, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	counted := &countedReader{Reader: conn}
	err = readResponse(bufio.NewReader(counted), "20")
	return int64(len(request)) + counted.n, err
}

type countedReader struct {
	io.Reader
	n int64
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// patience is how long a server may stall before the load gives up.
const patience = 30 * time.Second

// drive is one connection of the load. It returns how long each response took.
func (l Load) drive(addr string, first int, start time.Time) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(start.Add(l.Duration + patience)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, 16<<10)
	var times []time.Duration
	before := time.Now()
	for i := first; ; i += l.Connections {
		if l.Duration == 0 && i >= len(l.Requests) || l.Duration > 0 && len(times) > 0 && before.Sub(start) >= l.Duration {
			return times, nil
		}
		if _, err := conn.Write(l.Requests[i%len(l.Requests)]); err != nil {
			return nil, err
		}
		if err := readResponse(r, l.Status); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(before))
		before = now
	}
}

// readResponse reads a response, as little of it as tells where it ends.
func readResponse(r *bufio.Reader, status string) error {
	h, err := readHead(r)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(h.status, status) {
		return fmt.Errorf("the response was %s, not %s", h.status, status)
	}
	return h.discardBody(r)
}

// head is what the load needs of a response before its body.
type head struct {
	status string
	length int64
	closes bool // the connection
}

var (
	contentLength   = []byte("Content-Length: ")
	connectionClose = []byte("Connection: close\r")
)

func readHead(r *bufio.Reader) (head, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return head{}, err
	}
	if len(line) < 12 {
		return head{}, fmt.Errorf("the response begins with %q", line)
	}
	h := head{status: string(line[9:12]), length: -1}
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return head{}, err
		case len(line) <= 2 && h.length < 0:
			return head{}, errors.New("the response has no Content-Length")
		case len(line) <= 2:
			return h, nil
		case bytes.HasPrefix(line, contentLength):
			if h.length, err = strconv.ParseInt(string(bytes.TrimSpace(line[len(contentLength):])), 10, 64); err != nil {
				return head{}, err
			}
		case bytes.HasPrefix(line, connectionClose):
			h.closes = true
		}
	}
}

func (h head) discardBody(r *bufio.Reader) error {
	_, err := io.CopyN(io.Discard, r, h.length)
	return err
}

// Get returns the request for a target, with the key.
func Get(target string) []byte {
	return []byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + Key + "\r\n\r\n")
}

// Post returns the request that creates a pet, with the key.
func Post(body string) []byte {
	return fmt.Appendf(nil, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", Key, len(body), body)
}
