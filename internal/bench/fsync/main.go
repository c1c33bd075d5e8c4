// Command fsync measures what sharing commits brings on a disk whose fsync
// takes 2 ms, as those of servers do: creates a second of one client, each of
// which has a commit of its own, beside those of 64 clients. strace makes the
// disk slow. `make bench-fsync` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/petstore/internal/bench/rig"
)

func main() {
	program := flag.String("petstore", ".bin/petstore", "the program to measure")
	slice := flag.Duration("slice", 4*time.Second, "how long either is measured")
	flag.Parse()
	if err := run(*program, *slice); err != nil {
		fmt.Fprintln(os.Stderr, "fsync:", err)
		os.Exit(1)
	}
}

func run(program string, slice time.Duration) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return errors.New("strace is not installed, which makes the disk slow; try apt-get install strace")
	}
	dir, err := os.MkdirTemp("", "fsync")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := rig.StartPetstore("slow disk", program, "sqlite:"+filepath.Join(dir, "pets.db"), dir,
		strace, "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_exit=2000")
	if err != nil {
		return err
	}
	defer s.Stop()
	var perSecond []float64
	for _, clients := range []int{1, 64} {
		r, err := rig.Load(s, [][]byte{rig.Post(`{"name":"Frank","categoryId":1}`)}, "201", clients, slice)
		if err != nil {
			return err
		}
		fmt.Printf("%2d clients, fsync of 2 ms: %6.0f creates/s\n", clients, r.PerSecond)
		perSecond = append(perSecond, r.PerSecond)
	}
	fmt.Printf("ratio: %.1f\n", perSecond[1]/perSecond[0])
	return nil
}
