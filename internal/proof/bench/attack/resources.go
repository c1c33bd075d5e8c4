package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/bench/rig"
)

var asset = regexp.MustCompile(`(?:src|href)="([^"]+\.(?:js|css))"`)

// assets asks for the largest file of the documentation page.
func assets(b bench) (string, error) {
	s, err := b.start("assets")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	_, page, _, err := ask(s, plain("GET", "/docs"))
	if err != nil {
		return "", err
	}
	largest, path := 0, ""
	for _, m := range asset.FindAllStringSubmatch(page, -1) {
		p := "/" + strings.TrimPrefix(m[1], "/")
		if _, body, _, err := ask(s, plain("GET", p)); err == nil && len(body) > largest {
			largest, path = len(body), p
		}
	}
	if path == "" {
		return "", errors.New("the page at /docs names no file")
	}
	get, err := cost(s, plain("GET", path), 100)
	if err != nil {
		return "", err
	}
	head, err := cost(s, plain("HEAD", path), 100)
	if err != nil {
		return "", err
	}
	alone, err := healthy(s)
	if err != nil {
		return "", err
	}
	stop, err := flood(s, 32, path)
	if err != nil {
		return "", err
	}
	defer stop()
	time.Sleep(time.Second / 2) // until all of them read
	beside, err := healthy(s)
	return fmt.Sprintf("%s of processor time for a GET, %s for a HEAD; a healthy client's median from %s to %s", ms(get), ms(head), ms(alone), ms(beside)), err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mib(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// slowReaders ask for large pages and read nothing of them.
func slowReaders(b bench) (string, error) {
	s, err := b.startSQLite("slow-readers")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	if err := fillLarge(s, 100); err != nil {
		return "", err
	}
	before := s.Memory()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range 200 {
		conn, err := dial(s)
		if err != nil {
			return "", err
		}
		conns = append(conns, conn)
		if _, err := conn.Write(rig.Get("/v1/pets?limit=100")); err != nil {
			return "", err
		}
	}
	served, refused := 0, 0
	for _, conn := range conns { // the status line alone; the rest is left unread
		line := make([]byte, 12)
		if _, err := conn.Read(line); err != nil {
			return "", err
		}
		if bytes.HasSuffix(line, []byte("200")) {
			served++
		} else {
			refused++
		}
	}
	peak := s.PeakMemory()
	for _, c := range conns {
		_ = c.Close()
	}
	now, left := s.Memory(), time.Now()
	for now > before+before/4 && time.Since(left) < patience {
		time.Sleep(100 * time.Millisecond)
		now = s.Memory()
	}
	return fmt.Sprintf("%d served, %d refused; %s before, at most %s, %s when they had been gone for %s",
		served, refused, mib(before), mib(peak), mib(now), time.Since(left).Round(100*time.Millisecond)), nil
}

// idleConnections takes all the connections a process may have, and then asks
// with a key.
func idleConnections(b bench) (string, error) {
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		return "", errors.New("prlimit is not installed, which bounds the file descriptors; try apt-get install util-linux")
	}
	s, err := b.start("idle", prlimit, "--nofile=64:64")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range 200 {
		conn, err := dial(s)
		if err != nil {
			return "", err
		}
		conns = append(conns, conn)
		if _, err := conn.Write(plain("GET", "/livez")); err != nil {
			return "", err
		}
	}
	response, _, took, err := ask(s, rig.Get("/v1/pets"))
	if err != nil {
		return "no response within " + patience.String(), nil
	}
	return fmt.Sprintf("%d after %s for a client with a key, beside 200 idle connections", response.StatusCode, ms(took)), nil
}

// keyBesideReaders sends the first request of new keys while readers of large pages
// keep the store busy.
func keyBesideReaders(b bench) (string, error) {
	s, err := b.startSQLite("readers")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	if err := fillLarge(s, 300); err != nil {
		return "", err
	}
	var tokens []string
	for i := range 11 {
		out, err := exec.Command(b.petstore, "keys", "create", "--store", b.file("readers"), fmt.Sprintf("new %d", i)).Output()
		if err != nil {
			return "", err
		}
		tokens = append(tokens, strings.TrimSpace(string(out)))
	}
	var pages []string
	for after := range 200 {
		pages = append(pages, fmt.Sprintf("/v1/pets?limit=100&after=%d", after))
	}
	stop, err := flood(s, 32, pages...)
	if err != nil {
		return "", err
	}
	defer stop()
	time.Sleep(time.Second) // until all of them read
	var times []time.Duration
	var statuses []int
	for _, token := range tokens {
		response, _, took, err := ask(s, []byte("GET /v1/pets?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"))
		if err != nil {
			return "", err
		}
		times, statuses = append(times, took), append(statuses, response.StatusCode)
	}
	slices.Sort(times)
	slices.Sort(statuses)
	return fmt.Sprintf("%d new keys with statuses from %d to %d: half of them after %s, the last after %s",
		len(times), statuses[0], statuses[len(statuses)-1], ms(times[len(times)/2]), ms(times[len(times)-1])), nil
}

// unknownKeys sends keys that are well formed and not in the store, each once.
func unknownKeys(b bench) (string, error) {
	s, err := b.startSQLite("unknown")
	if err != nil {
		return "", err
	}
	defer s.Stop()
	var requests [][]byte
	for range 4000 {
		_, token, err := pets.NewKey("unknown", time.Now(), 0)
		if err != nil {
			return "", err
		}
		requests = append(requests, []byte("GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"))
	}
	start := s.ProcessorTime()
	if _, err := statusesOf(s, slices.Repeat([][]byte{rig.Get("/v1/pets")}, len(requests))); err != nil {
		return "", err
	}
	between := s.ProcessorTime()
	statuses, err := statusesOf(s, requests)
	if err != nil {
		return "", err
	}
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(len(requests)) }
	return fmt.Sprintf("%.0f µs of processor time, beside %.0f for a known key; %s", micros(s.ProcessorTime()-between), micros(between-start), statuses), nil
}

// statusesOf sends each request once over 32 connections, and counts the statuses.
func statusesOf(s *rig.Server, requests [][]byte) (string, error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	count := map[string]int{}
	var failed error
	for i := range 32 {
		running.Go(func() {
			statuses, err := pipeline(s, requests, i, 32)
			mu.Lock()
			defer mu.Unlock()
			for _, status := range statuses {
				count[status]++
			}
			if err != nil {
				failed = err
			}
		})
	}
	running.Wait()
	var parts []string
	for status, n := range count {
		parts = append(parts, fmt.Sprintf("%d × %s", n, status))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", "), failed
}

// unreadLog serves while nobody reads the log.
func unreadLog(b bench) (string, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer reader.Close()
	s, err := rig.Petstore{Name: "unread", Program: b.petstore, Store: "memory:", Dir: b.dir, Log: writer}.Start()
	if err != nil {
		return "", err
	}
	_ = writer.Close()
	const requests = 20_000
	statuses, err := statusesOf(s, slices.Repeat([][]byte{rig.Get("/v1/pets")}, requests))
	if err != nil {
		return "", err
	}
	memory := s.Memory()
	_ = reader.Close() // so that the server can end
	s.Stop()
	return fmt.Sprintf("%s, all of %d requests; %s", statuses, requests, mib(memory)), nil
}
