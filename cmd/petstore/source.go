package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
)

// source is a file that is read twice, and must be the same both times. Of
// standard input a copy is kept meanwhile, on disk.
type source struct {
	name string // for messages
	file *os.File
	size int64 // in bytes; 0 where it is not known
	read int64

	from io.Reader // nil where file is the source
	hash hash.Hash
	sum  []byte // of what was read first
}

func openSource(env environment, path string) (*source, error) {
	if path == "-" {
		// Without a name, it goes with the process, however that ends.
		file, err := os.CreateTemp("", "petstore-import-")
		if err != nil {
			return nil, fmt.Errorf("standard input cannot be kept while it is checked: %w", err)
		}
		_ = os.Remove(file.Name()) // where an open file cannot be removed, close does it
		return &source{name: "standard input", file: file, from: env.stdin}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, reason(err))
	}
	s := &source{name: path, file: file}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file; to read a pipe, redirect it and give -")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s: %w", path, reason(err)), file.Close())
	}
	s.size = info.Size()
	return s, nil
}

// reason leaves out of an error of a file what the message has already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// first returns a reader of all of it.
func (s *source) first(ctx context.Context) (io.Reader, error) {
	if s.from == nil {
		return s.reader(ctx, s.file), nil
	}
	return s.reader(ctx, io.TeeReader(s.from, s.file)), nil
}

// again returns a second reader, once the first is at its end.
func (s *source) again(ctx context.Context) (io.Reader, error) {
	s.sum = s.hash.Sum(nil)
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return s.reader(ctx, s.file), nil
}

func (s *source) reader(ctx context.Context, from io.Reader) io.Reader {
	s.hash, s.read = sha256.New(), 0
	return io.TeeReader(&interruptible{ctx: ctx, from: from}, io.MultiWriter(s.hash, (*counter)(&s.read)))
}

// part returns the function that tells how much has been read, or nil.
func (s *source) part() func() float64 {
	if s.size == 0 {
		return nil
	}
	return func() float64 { return float64(s.read) / float64(s.size) }
}

// compare returns an error unless what was read again is what was read first.
func (s *source) compare() error {
	if string(s.hash.Sum(nil)) != string(s.sum) {
		return s.errChanged()
	}
	return nil
}

func (s *source) errChanged() error {
	return fmt.Errorf("%s has changed while it was read", s.name)
}

// fault names what is wrong with the source and where, 0 for no line.
func (s *source) fault(line int, err error) error {
	if line == 0 {
		return fmt.Errorf("%s: %w", s.name, reason(err))
	}
	return fmt.Errorf("%s:%d: %w", s.name, line, reason(err))
}

func (s *source) close() error {
	err := s.file.Close()
	if s.from != nil {
		_ = os.Remove(s.file.Name()) // mostly it is removed already
	}
	return err
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// interruptible ends when its context does, even where the reading beneath
// waits for somebody to write.
type interruptible struct {
	ctx  context.Context
	from io.Reader
	buf  []byte
}

func (r *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if len(r.buf) < len(p) {
		r.buf = make([]byte, len(p))
	}
	buf, done := r.buf[:len(p)], make(chan result, 1)
	go func() {
		n, err := r.from.Read(buf)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, buf[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}
