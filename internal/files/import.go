package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"

	"example.com/petstore/internal/pets"
)

// Options are the options of Read.
type Options struct {
	Name    string // of the file, for errors
	Format  Format // "" means detect it from the content
	IDs     bool   // require ascending identifiers; if false, identifiers are ignored
	MaxBody int    // the maximum size of a request body, and so of a row

	// Decode returns the pet that a request with this body would add, or an
	// error with the message that its client would get.
	Decode func(body []byte) (pets.NewPet, error)
}

// Row is a row of a file.
type Row struct {
	Line int // where it begins, from 1
	Pet  pets.Pet
	Err  error // why the row is invalid, or nil
}

// rowReader returns the next row, with the JSON of its pet, or io.EOF.
type rowReader func() (Row, []byte, error)

// Read yields all rows of a file, valid or not. If the file cannot be read, it ends
// with an Invalid error that begins with the file's name.
func Read(r io.Reader, o Options) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		next, err := o.open(bufio.NewReader(r))
		if err != nil {
			yield(Row{}, o.errorAt(0, err))
			return
		}
		last := int64(0)
		for {
			row, body, err := next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(row, o.errorAt(row.Line, err))
				return
			case row.Err == nil:
				row.Pet, row.Err = o.decode(body, last)
			}
			if row.Err == nil {
				last = row.Pet.ID
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (o Options) errorAt(line int, err error) error {
	place := o.Name
	if line > 0 {
		place = fmt.Sprintf("%s:%d", o.Name, line)
	}
	return &pets.Error{Kind: pets.Invalid, Message: place, Err: err}
}

func (o Options) tooLarge() error { return fmt.Errorf("the row is larger than %d bytes", o.MaxBody) }

// open skips a byte order mark and detects the format.
func (o Options) open(in *bufio.Reader) (rowReader, error) {
	head, err := in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if text, found := bytes.CutPrefix(head, []byte("\ufeff")); found {
		head = text
		_, _ = in.Discard(len("\ufeff"))
	}
	head = bytes.TrimSpace(head)
	switch {
	case o.Format == NDJSON, o.Format == "" && bytes.HasPrefix(head, []byte("{")):
		return o.ndjson(in), nil
	case o.Format == "" && bytes.HasPrefix(head, []byte("[")):
		return nil, errors.New("the file is a JSON array; write one object per line instead, without brackets and commas between them")
	}
	return o.csv(in)
}

// decode returns the pet of a row. Its identifier, if read, must be greater than
// last.
func (o Options) decode(body []byte, last int64) (pets.Pet, error) {
	const extra = 64 // the identifier and status in a row of an export
	if len(body) > o.MaxBody && (!o.IDs || len(body) > o.MaxBody+extra) {
		return pets.Pet{}, o.tooLarge()
	}
	p, err := o.Decode(body)
	if err != nil || !o.IDs {
		return p.WithID(0), err
	}
	var has struct {
		ID *int64 `json:"id"`
	}
	if err := json.Unmarshal(body, &has); err != nil {
		return pets.Pet{}, fmt.Errorf("id must be an integer between 1 and %d", int64(pets.MaxID))
	}
	if has.ID == nil {
		return pets.Pet{}, errors.New("id is required")
	}
	return p.WithID(*has.ID), pets.CheckNextID(*has.ID, last)
}

// ndjson reads one object per line and skips blank lines.
func (o Options) ndjson(in io.Reader) rowReader {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2*o.MaxBody) // reading ends at a longer line
	row := Row{}
	return func() (Row, []byte, error) {
		for row.Line++; lines.Scan(); row.Line++ {
			if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
				return row, text, nil
			}
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return row, nil, o.tooLarge()
		}
		return row, nil, cmp.Or(lines.Err(), io.EOF)
	}
}

// Rejected is the error for a file with invalid rows.
type Rejected struct {
	First     []Row // at most 20 of them
	Good, Bad int   // rows
}

func (r *Rejected) Error() string {
	return fmt.Sprintf("invalid rows: %d of %d", r.Bad, r.Good+r.Bad)
}

// Import stores the pets of rows in one transaction and returns their number. If
// any row is invalid, it stores nothing and returns a *Rejected. Other errors come
// from rows or the store.
func Import(ctx context.Context, st pets.Store, rows iter.Seq2[Row, error], ids bool) (int, error) {
	if ids {
		return st.LoadWithIDs(ctx, acceptable(rows))
	}
	return st.Load(ctx, func(yield func(pets.NewPet, error) bool) {
		for p, err := range acceptable(rows) {
			if !yield(p.WithoutID(), err) {
				return
			}
		}
	})
}

// Check returns what Import would return, but stores nothing.
func Check(rows iter.Seq2[Row, error]) (n int, err error) {
	for _, err := range acceptable(rows) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// acceptable yields the pets of rows up to the first invalid row. If there is one,
// it reads the rest and then yields a *Rejected.
func acceptable(rows iter.Seq2[Row, error]) iter.Seq2[pets.Pet, error] {
	return func(yield func(pets.Pet, error) bool) {
		var r Rejected
		for row, err := range rows {
			switch {
			case err != nil:
				yield(pets.Pet{}, err)
				return
			case row.Err != nil:
				if r.Bad++; r.Bad <= 20 {
					r.First = append(r.First, row)
				}
				continue
			}
			r.Good++
			if r.Bad == 0 && !yield(row.Pet, nil) {
				return
			}
		}
		if r.Bad > 0 {
			yield(pets.Pet{}, &r)
		}
	}
}
