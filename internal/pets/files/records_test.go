package files

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Simple lines are cut at their commas, all others are scanned byte by byte:
// nobody may notice which.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		"name,categoryId\nRex,1\n", "a,b\r\nc,d\r\n", "a\r\r\n", "a\rb\n", "\n\n,\n", "\r\n", "a", "a,\"b\"\n", "a\"b\n", "\"\n\"\n",
		strings.Repeat("x", maxBody-1) + "\n", strings.Repeat("x", maxBody+slack) + "\n", strings.Repeat("x", maxBody+slack) + "\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cut := all(text, (*recordReader).next)
		scanned := all(text, (*recordReader).scan)
		if !reflect.DeepEqual(cut, scanned) {
			t.Errorf("%.200q: got %.500v, want %.500v", text, cut, scanned)
		}
	})
}

type readRecord struct {
	record
	raw string
}

func all(text string, next func(*recordReader) (record, error)) (records []readRecord) {
	in := bufio.NewReaderSize(strings.NewReader(text), 2*maxBody)
	_, _ = in.Peek(1) // so that there is something to cut
	r := &recordReader{in: in, line: 1}
	for {
		rec, err := next(r)
		if errors.Is(err, io.EOF) {
			return records
		}
		rec.fields = slices.Clone(rec.fields)
		records = append(records, readRecord{rec, string(r.raw)})
	}
}
