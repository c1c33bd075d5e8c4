package files

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// recordsOf returns the fields of each record of text, or its fault, with its line.
func recordsOf(t *testing.T, in io.Reader) (fields [][]string, lines []int) {
	t.Helper()
	r := &recordReader{in: bufio.NewReaderSize(in, 1<<10), limit: 1 << 10, line: 1}
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return fields, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err := r.fields()
		if err != nil {
			list = []string{"fault: " + err.Error()}
		}
		fields, lines = append(fields, list), append(lines, line)
	}
}

func TestARecordWithAFaultEndsWithItsLine(t *testing.T) {
	const after = "fault: a closing quote is followed by neither a comma nor the end of the line"
	const stray = "fault: a carriage return stands outside quotes; lines end in LF or CR LF"
	for text, want := range map[string][][]string{
		"a\"b\"\nc":            {{`fault: a quote stands inside a field: put the whole field in quotes and write two, ""`}, {"c"}},
		"\"a\"b,\"\nc":         {{after}, {"c"}},
		"\"a\"\r\"\nc":         {{stray}, {"c"}},
		"\"a\nb\"c,\"\nd":      {{after}, {"d"}},
		"a\rb\nc":              {{stray}, {"c"}},
		"\"a\",b\r\r\nc":       {{stray}, {"c"}},
		"a\r":                  {{stray}},
		"a\n\"b\nc\n":          {{"a"}, {"fault: a quote is opened and never closed"}},
		"a,\"\"\n,":            {{"a", ""}, {"", ""}},
		"\"a\"\"\nb\"\"\"\r\n": {{"a\"\nb\""}},
		"\"" + strings.Repeat("x\n", 1000) + "\"\na": {{"fault: too long"}, {"a"}},
		strings.Repeat("x", 1<<10) + "\na":           {{"fault: too long"}, {"a"}},
		strings.Repeat("x", 1<<10-1) + "\na":         {{strings.Repeat("x", 1<<10-1)}, {"a"}},
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			if got, _ := recordsOf(t, in); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%.50q: got %.200q, want %.200q", text, got, want)
			}
		}
	}
}
