package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/proof/bench/rig"
)

// patience bounds every wait for a response.
const patience = 30 * time.Second

// dial opens a connection that gives up after patience.
func dial(s *rig.Server) (net.Conn, error) {
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(patience))
}

// ask sends a request on a connection of its own and returns the response with
// its body read, and how long it took.
func ask(s *rig.Server, request []byte) (*http.Response, string, time.Duration, error) {
	start := time.Now()
	conn, err := dial(s)
	if err != nil {
		return nil, "", 0, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return nil, "", 0, err
	}
	method, _, _ := strings.Cut(string(request), " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, "", 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), time.Since(start), err
}

// plain returns a request without a key.
func plain(method, path string) []byte {
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// cost returns the server's processor time for each of n requests, one after the
// other.
func cost(s *rig.Server, request []byte, n int) (time.Duration, error) {
	before := s.ProcessorTime()
	for range n {
		if _, _, _, err := ask(s, request); err != nil {
			return 0, err
		}
	}
	return (s.ProcessorTime() - before) / time.Duration(n), nil
}

// healthy returns the median time of a get on a connection of its own.
func healthy(s *rig.Server) (time.Duration, error) {
	var times []time.Duration
	for range 101 {
		_, _, took, err := ask(s, rig.Get("/v1/pets"))
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// background runs work on n goroutines until stop is called.
func background(n int, work func(i int)) (stop func()) {
	end := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					work(i)
				}
			}
		})
	}
	return func() {
		close(end)
		running.Wait()
	}
}

// flood repeats requests from a process of its own until stop is called, so that
// a healthy client does not wait for the attacker's goroutines.
func flood(s *rig.Server, connections int, paths ...string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"flood", s.Addr, strconv.Itoa(connections)}, paths...)...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}, nil
}

// flooding is the process of flood: it asks for the paths in turns, with the key,
// until it is killed. In place of paths, "streams" and an end of them has it call
// floodStreams.
func flooding(addr, connections string, paths []string) {
	n, _ := strconv.Atoi(connections)
	if paths[0] == "streams" {
		background(n, func(int) { floodStreams(addr, paths[1]) })
		select {}
	}
	var turn atomic.Int64
	for range n {
		go func() {
			for {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					continue
				}
				path := paths[int(turn.Add(1))%len(paths)]
				_, _ = conn.Write([]byte(strings.Replace(string(rig.Get(path)), "\r\n", "\r\nConnection: close\r\n", 1)))
				_, _ = io.Copy(io.Discard, conn) // a server that resets it is loaded too
				_ = conn.Close()
			}
		}()
	}
	select {}
}

// largeName is close to what a body of 64 KiB can hold.
var largeName = strings.Repeat("x", 64<<10-100)

// fillLarge creates pets with large names.
func fillLarge(s *rig.Server, n int) error {
	for range n {
		if err := s.Create(fmt.Sprintf(`{"name":%q,"categoryId":1}`, largeName)); err != nil {
			return err
		}
	}
	return nil
}
