package files

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"example.com/petstore/internal/old/reason"
)

// Source is a file that is read twice, and must be the same both times. It may be
// compressed by gzip. Standard input is copied to disk meanwhile.
type Source struct {
	name string // for messages
	file *os.File
	size int64 // in bytes; 0 where it is not known
	read int64

	from io.Reader // nil where file is the source
	hash hash.Hash
	sum  []byte // of the bytes of the first reading
}

// Open opens the file at path, or stdin where that is "-".
func Open(path string, stdin io.Reader) (*Source, error) {
	if path == "-" {
		// Without a name, the file goes with the process, however that ends.
		file, err := os.CreateTemp("", "petstore-import-")
		if err != nil {
			return nil, fmt.Errorf("standard input cannot be kept while it is checked: %w", err)
		}
		_ = os.Remove(file.Name()) // where an open file cannot be removed, Close does it
		return &Source{name: "standard input", file: file, from: stdin}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, reason.Of(err))
	}
	s := &Source{name: path, file: file}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file; to read a pipe, redirect it and give -")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s: %w", path, reason.Of(err)), file.Close())
	}
	s.size = info.Size()
	return s, nil
}

// Name returns the name of the source in messages.
func (s *Source) Name() string { return s.name }

// Part returns how much of the file has been read, from 0 to 1, or 0 where its
// size is not known.
func (s *Source) Part() float64 {
	if s.size == 0 {
		return 0
	}
	return float64(s.read) / float64(s.size)
}

// Close releases the file.
func (s *Source) Close() error {
	err := s.file.Close()
	if s.from != nil {
		_ = os.Remove(s.file.Name()) // mostly it is removed already
	}
	return err
}

// Fault returns the error with the source's name and the line; 0 is no line.
func (s *Source) Fault(line int, err error) error {
	if line == 0 {
		return fmt.Errorf("%s: %w", s.name, reason.Of(err))
	}
	return fmt.Errorf("%s:%d: %w", s.name, line, reason.Of(err))
}

// first returns a reader of all of it.
func (s *Source) first(ctx context.Context) (io.Reader, error) {
	if s.from == nil {
		return s.reader(ctx, s.file)
	}
	return s.reader(ctx, io.TeeReader(s.from, s.file))
}

// again returns a second reader, once the first is at its end.
func (s *Source) again(ctx context.Context) (io.Reader, error) {
	s.sum = s.hash.Sum(nil)
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return s.reader(ctx, s.file)
}

// same returns an error unless both readings had the same bytes.
func (s *Source) same() error {
	if !bytes.Equal(s.hash.Sum(nil), s.sum) {
		return s.errChanged()
	}
	return nil
}

func (s *Source) errChanged() error {
	return fmt.Errorf("%s has changed while it was read", s.name)
}

// reader reads the file's bytes, uncompressed where gzip has compressed them.
func (s *Source) reader(ctx context.Context, from io.Reader) (io.Reader, error) {
	s.hash, s.read = sha256.New(), 0
	file := bufio.NewReaderSize(io.TeeReader(interruptible(ctx, from), io.MultiWriter(s.hash, (*counter)(&s.read))), readSize)
	if head, _ := file.Peek(len(gzipMagic)); string(head) != gzipMagic { // an error comes back from Read
		return file, nil
	}
	expanded, err := gzip.NewReader(file)
	if err != nil {
		return nil, explainGzip(err)
	}
	return &expansion{from: expanded, compressed: &s.read}, nil
}

const gzipMagic = "\x1f\x8b"

// readSize is how much is read at a time, in bytes.
const readSize = 64 << 10

// A file may expand to freeExpansion bytes, and beyond that to maxExpansion times its
// size. Files of animals stay far below; gzip makes a thousandth of equal bytes.
const (
	freeExpansion = 16 << 20
	maxExpansion  = 200
)

var (
	errExpansion = fmt.Errorf("it expands to more than %d times its size, which no file of animals does", maxExpansion)
	errGzip      = errors.New("its gzip data is damaged or ends too early")
)

// expansion bounds the size to which a compressed file expands.
type expansion struct {
	from       io.Reader
	compressed *int64
	size       int64
}

func (e *expansion) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.size += int64(n)
	if e.size > freeExpansion && e.size > maxExpansion**e.compressed {
		return n, errExpansion
	}
	return n, explainGzip(err)
}

func explainGzip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errGzip
	}
	return err
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// interruptible returns a reader that ends with its context, even while from waits for
// a writer.
func interruptible(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	return r
}
