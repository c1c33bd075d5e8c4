// Command attack measures, from outside, how much harm one connection, one key or
// no key at all can do. Each measurement stands beside the figure that made it
// necessary. `make bench-attack` runs it; `make bench-report` writes its table
// into .github/SECURITY.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

// bench is one run.
type bench struct {
	petstore, dir string
}

// attacks are the measurements, each with the figure seen before its defence.
var attacks = []struct {
	name, before string
	measure      func(bench) (string, error)
}{
	{"the page's bundle asked for without gzip", "9 ms of processor time for a GET or HEAD; a healthy client's median from 1 to 137 ms beside 32 connections", assets},
	{"200 slow readers of pages of 64 KB names, one key", "3.4 GB, not returned", slowReaders},
	{"a path of 30 KB of control characters, no key", "a line of 60 KB; 274 MB/s of log", longPaths},
	{"a log that nobody reads", "the service stands still after 275 requests", unreadLog},
	{"a fixed key in a path and in X-Request-Id", "in the log in clear", keyInLog},
	{"idle connections without a key, 64 file descriptors", "everybody else shut out for 2 minutes", idleConnections},
	{"Content-Length with Transfer-Encoding, a request hidden behind", "answered, and so was the hidden request", hiddenRequest},
	{"a key not seen before, beside 32 readers of large pages", "503 after 2 s", keyBesideReaders},
	{"well-formed unknown keys", "41 µs of processor time, beside 24 for a known key", unknownKeys},
	{"HTTP/2: streams that are reset at once, 20 connections without a key", "a healthy client's median from 0.2 to 270 ms", resets("reset")},
	{"HTTP/2: streams that the server is provoked to reset, likewise", "a healthy client's median from 0.2 to 19 ms", resets("provoked")},
	{"HTTP/2: streams beyond the limit of a connection, likewise", "a healthy client's median from 0.4 to 664 ms", resets("left")},
	{"HTTP/2: a header that drips", "the connection ends after 120 s", dripping},
	{"64 clients that leave in the midst of a response", "189 lines at ERROR", leavingClients},
}

func main() {
	if len(os.Args) > 4 && os.Args[1] == "flood" {
		flooding(os.Args[2], os.Args[3], os.Args[4:])
	}
	program := flag.String("petstore", ".bin/petstore", "the program to measure")
	only := flag.String("only", "", "measure only the attacks whose name contains this")
	out := flag.String("out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := run(*program, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func run(program, only, out string) error {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var figures []measured.Attack
	for i, a := range attacks {
		if !strings.Contains(a.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "\r%70s\r%d of %d: %s", "", i+1, len(attacks), a.name)
		now, err := a.measure(bench{program, dir})
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		figures = append(figures, measured.Attack{Name: a.name, Before: a.before, Now: now})
	}
	fmt.Fprintf(os.Stderr, "\r%70s\r", "")
	fmt.Print(measured.AttackTable(figures))
	return measured.Write(out, figures)
}

// start starts the service on memory.
func (b bench) start(name string, wrapper ...string) (*rig.Server, error) {
	return rig.Petstore{Name: name, Program: b.petstore, Store: "memory:", Dir: b.dir, Wrapper: wrapper}.Start()
}

// startSQLite starts the service on a new file.
func (b bench) startSQLite(name string) (*rig.Server, error) {
	return rig.Petstore{Name: name, Program: b.petstore, Store: b.file(name), Dir: b.dir}.Start()
}

// startSecure starts the service on memory, with TLS.
func (b bench) startSecure(name string) (*rig.Server, error) {
	return rig.Petstore{Name: name, Program: b.petstore, Store: "memory:", Dir: b.dir, TLS: true}.Start()
}

func (b bench) file(name string) string { return "sqlite:" + filepath.Join(b.dir, name+".db") }

// log returns the log of the server of that name.
func (b bench) log(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(b.dir, name+".log"))
}
