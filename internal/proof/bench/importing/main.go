//go:build linux

// Command importing measures the cost of importing a million pets into SQLite: the
// animals of internal/pets/animals, again and again, by `petstore import`. It also
// exports, restores and exports them once more, and fails where the two exports
// differ. `make bench-import` runs the command.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"example.com/petstore/internal/proof/bench/measured"
)

func main() {
	program := flag.String("petstore", ".bin/petstore", "the program to measure")
	animals := flag.String("animals", "internal/pets/animals/pets.csv", "a CSV file of pets, repeated as often as it takes")
	pets := flag.Int("pets", 1_000_000, "how many pets to import")
	out := flag.String("out", "", "write the figures to this file, as JSON")
	flag.Parse()
	if err := run(*program, *animals, *pets, *out); err != nil {
		fmt.Fprintln(os.Stderr, "importing:", err)
		os.Exit(1)
	}
}

func run(program, animals string, pets int, out string) error {
	dir, err := os.MkdirTemp("", "importing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pets.csv")
	if err := repeat(animals, file, pets); err != nil {
		return err
	}
	first, second := filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db")
	exported, again := filepath.Join(dir, "exported.csv"), filepath.Join(dir, "again.csv")

	figures := measured.Import{Pets: pets}
	start := time.Now()
	state, err := petstore(program, "import", "--store", "sqlite:"+first, file)
	if err != nil {
		return err
	}
	figures.Seconds = time.Since(start).Seconds()
	figures.CPUSeconds = (state.UserTime() + state.SystemTime()).Seconds()
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		figures.PeakMemory = int64(usage.Maxrss) << 10 // Linux counts in KiB
	}
	info, err := os.Stat(first)
	if err != nil {
		return err
	}
	figures.FileSize = info.Size()

	for _, args := range [][]string{
		{"export", "--store", "sqlite:" + first, exported},
		{"import", "--restore", "--store", "sqlite:" + second, exported},
		{"export", "--store", "sqlite:" + second, again},
	} {
		if _, err := petstore(program, args...); err != nil {
			return err
		}
	}
	a, err := digest(exported)
	if err != nil {
		return err
	}
	b, err := digest(again)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return errors.New("the export of the restored store differs from the export it was restored from")
	}
	fmt.Print(figures.Table())
	return measured.Write(out, figures)
}

// petstore runs the program to its end.
func petstore(program string, args ...string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("petstore %s: %w", args[0], err)
	}
	return cmd.ProcessState, nil
}

// repeat writes a CSV file with the header of source and so many of its rows.
func repeat(source, target string, rows int) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(data), []byte("\n"))
	lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
	var text bytes.Buffer
	text.Write(lines[0])
	for i := range rows {
		text.Write(lines[1+i%(len(lines)-1)])
	}
	return os.WriteFile(target, text.Bytes(), 0o600)
}

func digest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
