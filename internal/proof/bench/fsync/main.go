// Command fsync measures the gain of shared commits on a disk whose fsync takes
// 2 ms, as on the disks of servers. It compares the creates a second of one client,
// each with a commit of its own, with the creates of 64 clients. strace makes the
// disk slow. `make bench-fsync` runs the command.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/petstore/internal/proof/bench/measured"
	"example.com/petstore/internal/proof/bench/rig"
)

func main() {
	program := flag.String("petstore", ".bin/petstore", "the program to measure")
	slice := flag.Duration("slice", 4*time.Second, "how long each number of clients is measured, in whole seconds")
	out := flag.String("out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := run(*program, *slice, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fsync:", err)
		os.Exit(1)
	}
}

func run(program string, slice time.Duration, out string) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return errors.New("strace is not installed, which makes the disk slow; try apt-get install strace")
	}
	dir, err := os.MkdirTemp("", "fsync")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := rig.Petstore{
		Name: "slow disk", Program: program, Store: "sqlite:" + filepath.Join(dir, "pets.db"), Dir: dir,
		Wrapper: []string{strace, "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_exit=2000"},
	}.Start()
	if err != nil {
		return err
	}
	defer s.Stop()
	var figures []measured.Commits
	for _, clients := range []int{1, 8, 64} {
		load := rig.Load{Requests: [][]byte{rig.Post(`{"name":"Frank","categoryId":1}`)}, Connections: clients, Duration: slice}
		r, err := load.Run(s)
		if err != nil {
			return err
		}
		figures = append(figures, measured.Commits{Clients: clients, PerSecond: r.PerSecond})
	}
	fmt.Print(measured.CommitsTable(figures))
	return measured.Write(out, figures)
}
