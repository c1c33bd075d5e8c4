// Package rig is what measuring over the loopback interface needs: servers in
// processes of their own, and a load that costs less than any of them.
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
	"sync"
	"time"
)

// Result is what some time of load came to.
type Result struct {
	Requests  int
	PerSecond float64
	Median    time.Duration
	P99       time.Duration
	CPU       time.Duration // of the server, a request; 0 where it cannot be known
}

// Load sends requests, in turns, over n connections for d, each connection
// waiting for an answer before it sends the next, and expects that status
// every time. It reads as little of an answer as tells where it ends.
func Load(s *Server, requests [][]byte, status string, n int, d time.Duration) (Result, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		errs  []error
	)
	cpu, start := s.cpu(), time.Now()
	for i := range n {
		wg.Go(func() {
			mine, err := drive(s.Addr, requests, i, n, status, start.Add(d))
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
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
		CPU:       (s.cpu() - cpu) / time.Duration(len(times)),
	}, nil
}

// drive sends every step-th request from the first on.
func drive(addr string, requests [][]byte, first, step int, status string, deadline time.Time) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline.Add(10 * time.Second)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(conn, 16<<10)
	var times []time.Duration
	before := time.Now()
	for i := first; len(times) == 0 || before.Before(deadline); i += step {
		if _, err := conn.Write(requests[i%len(requests)]); err != nil {
			return nil, err
		}
		if err := readAnswer(r, status); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(before))
		before = now
	}
	return times, nil
}

var contentLength = []byte("Content-Length: ")

func readAnswer(r *bufio.Reader, status string) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[9:12]) != status {
		return fmt.Errorf("the answer was %q, not %s", line, status)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if bytes.HasPrefix(line, contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("the answer has no Content-Length")
	}
	_, err = io.CopyN(io.Discard, r, int64(length))
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
