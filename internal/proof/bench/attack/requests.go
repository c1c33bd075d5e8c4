package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/proof/bench/rig"
)

// pipeline sends every step-th request from the first on, over one connection as
// long as the server keeps it, and returns the statuses.
func pipeline(s *rig.Server, requests [][]byte, first, step int) (statuses []string, err error) {
	conn, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	rest := bufio.NewReader(conn)
	for i := first; i < len(requests); i += step {
		if _, err := conn.Write(requests[i]); err != nil {
			return statuses, err
		}
		response, err := http.ReadResponse(rest, nil)
		if err != nil {
			return statuses, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil {
			return statuses, err
		}
		statuses = append(statuses, strconv.Itoa(response.StatusCode))
		if response.Close {
			_ = conn.Close()
			if conn, err = dial(s); err != nil {
				return statuses, err
			}
			rest.Reset(conn)
		}
	}
	return statuses, nil
}

// longPaths sends paths of control characters, over 16 connections.
func longPaths(b bench) (string, error) {
	s, err := b.start("paths")
	if err != nil {
		return "", err
	}
	request := plain("GET", "/"+strings.Repeat("%01", 10_000))
	var sent atomic.Int64
	const length = 2 * time.Second
	stop := background(16, func(int) {
		if statuses, err := pipeline(s, [][]byte{request, request, request, request}, 0, 1); err == nil {
			sent.Add(int64(len(statuses)))
		}
	})
	time.Sleep(length) // the load runs meanwhile
	stop()
	s.Stop()
	log, err := b.log("paths")
	if err != nil {
		return "", err
	}
	longest := 0
	for line := range bytes.Lines(log) {
		longest = max(longest, len(line))
	}
	return fmt.Sprintf("a line of at most %d bytes; %.1f MB/s of log at %d requests/s", longest, float64(len(log))/1e6/length.Seconds(), sent.Load()/int64(length.Seconds())), nil
}

// keyInLog puts the fixed key where clients put it by mistake.
func keyInLog(b bench) (string, error) {
	s, err := b.start("key")
	if err != nil {
		return "", err
	}
	for _, request := range []string{
		"GET /v1/pets/" + rig.Key + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /" + rig.Key + "/" + strings.Repeat("x", 300) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /" + strings.Repeat("x", 250) + rig.Key + " HTTP/1.1\r\nHost: localhost\r\n\r\n", // where lines are cut
		"GET /v1/pets?key=" + rig.Key + " HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: " + rig.Key + "\r\n\r\n",
		rig.Key + " /v1/pets HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		if _, _, _, err := ask(s, []byte(request)); err != nil {
			return "", err
		}
	}
	s.Stop()
	log, err := b.log("key")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d times in %d lines of log, %d times by half",
		bytes.Count(log, []byte(rig.Key)), bytes.Count(log, []byte("\n")), bytes.Count(log, []byte(rig.Key[:len(rig.Key)/2]))), nil
}

// hiddenRequest announces two lengths, and hides a request behind the shorter.
func hiddenRequest(b bench) (string, error) {
	s, err := b.start("hidden")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	hidden := string(plain("GET", "/livez"))
	responses := 0
	conn, err := dial(s)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(hidden)+5, hidden)
	if err != nil {
		return "", err
	}
	for rest := bufio.NewReader(conn); ; responses++ {
		response, err := http.ReadResponse(rest, nil)
		if err != nil {
			break
		}
		_, _ = io.Copy(io.Discard, response.Body)
	}
	return fmt.Sprintf("%d response, and the connection ends", responses), nil
}

// leavingClients reset their connections while large pages are on their way.
func leavingClients(b bench) (string, error) {
	s, err := b.startSQLite("leaving")
	if err != nil {
		return "", err
	}
	if err := fillLarge(s, 100); err != nil {
		return "", err
	}
	for range 64 {
		conn, err := dial(s)
		if err != nil {
			return "", err
		}
		if _, err := conn.Write(rig.Get("/v1/pets?limit=100")); err != nil {
			return "", err
		}
		_ = conn.(interface{ SetLinger(int) error }).SetLinger(0)
		_ = conn.Close()
	}
	if _, _, _, err := ask(s, rig.Get("/v1/pets")); err != nil {
		return "", err
	}
	s.Stop()
	log, err := b.log("leaving")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d lines at ERROR, %d with status 499", bytes.Count(log, []byte(`"level":"ERROR"`)), bytes.Count(log, []byte(`"status":499`))), nil
}
