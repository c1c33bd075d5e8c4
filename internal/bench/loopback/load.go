package main

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

// result is what one slice of load came to.
type result struct {
	requests  int
	perSecond float64
	cpu       time.Duration // of the server, a request
	p99       time.Duration
}

// load sends the same request over n connections, each waiting for its answer
// before it sends the next, and expects that status every time. It reads as
// little of an answer as tells where it ends, so that it stays cheaper than
// any server it measures.
func load(addr string, request []byte, status string, n int, d time.Duration) (result, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		errs  []error
	)
	deadline := time.Now().Add(d)
	start := time.Now()
	for range n {
		wg.Go(func() {
			mine, err := drive(addr, request, status, deadline)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	slices.Sort(times)
	return result{
		requests:  len(times),
		perSecond: float64(len(times)) / took.Seconds(),
		p99:       times[len(times)*99/100],
	}, nil
}

func drive(addr string, request []byte, status string, deadline time.Time) ([]time.Duration, error) {
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
	for before := time.Now(); before.Before(deadline); {
		if _, err := conn.Write(request); err != nil {
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
