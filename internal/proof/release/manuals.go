package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// completions are the files that shells read, by shell.
var completions = map[string]string{"bash": "petstore.bash", "zsh": "_petstore", "fish": "petstore.fish"}

// manuals writes the man pages of all commands to dir/man, compressed, and the
// completions to dir/completions. Both are the same on every platform.
func (r *release) manuals(dir string) error {
	pages, shells := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, folder := range []string{pages, shells} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "here", "petstore")
	if err := r.build(program, runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	described, err := output(exec.Command(program, "describe"))
	if err != nil {
		return err
	}
	man := exec.Command(filepath.Join(r.tools, "man"), "-out", pages, "-version", r.number(), fmt.Sprintf("-time=%d", r.time.Unix()))
	man.Stdin = bytes.NewBufferString(described)
	if _, err := output(man); err != nil {
		return err
	}
	for shell, name := range completions {
		text, err := output(exec.Command(program, "completion", shell))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(shells, name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return compressAll(pages)
}

// compressAll replaces each file in dir by one compressed by gzip, without a time.
func compressAll(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var compressed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // a level that there is
		_, _ = w.Write(text)                                           // into memory
		_ = w.Close()
		if err := os.WriteFile(path+".gz", compressed.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
