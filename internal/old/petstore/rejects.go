package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/petstore/internal/old/pets/files"
	"example.com/petstore/internal/old/reason"
)

// mostShown is how many unacceptable rows are named.
const mostShown = 20

// rejects names the rows that are not acceptable, and writes them to a file
// where one is asked for.
type rejects struct {
	env   environment
	src   *files.Source
	lines []string // to be printed once no progress is shown any more
	n     int

	file *os.File // nil where there is none
	out  *files.Rejects
}

// newRejects makes the file, which must be new: nothing is written over, and other
// users may not read it.
func newRejects(env environment, src *files.Source, path string) (*rejects, error) {
	r := &rejects{env: env, src: src}
	if path == "" {
		return r, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s is there already; choose another name for --rejects", path)
	case err != nil:
		return nil, fmt.Errorf("cannot write %s: %w", path, reason.Of(err))
	}
	r.file, r.out = file, files.NewRejects(file)
	return r, nil
}

func (r *rejects) add(row files.Row) error {
	if r.n++; r.n <= mostShown {
		r.lines = append(r.lines, visible(r.src.Fault(row.Line, row.Err).Error()))
	}
	if r.out == nil {
		return nil
	}
	return r.explain(r.out.Write(row))
}

// end names the rows, and finishes the file or removes one without rows.
func (r *rejects) end() error {
	for _, line := range r.lines {
		fmt.Fprintln(r.env.stderr, line)
	}
	if more := r.n - len(r.lines); more > 0 {
		fmt.Fprintf(r.env.stderr, "and %d more\n", more)
	}
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.out.Flush(), r.file.Close())
	if r.n == 0 {
		return errors.Join(err, os.Remove(r.file.Name()))
	}
	return r.explain(err)
}

func (r *rejects) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", r.file.Name(), reason.Of(err))
}
