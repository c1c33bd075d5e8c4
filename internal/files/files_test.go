package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

const maxBody = edge.MaxBody

var decode, _ = service.BodyDecoder()

// read returns a line for each row of text: its pet, or why it is invalid.
func read(text string, o Options) (rows []string) {
	o.Name, o.MaxBody, o.Decode = "pets", maxBody, decode
	for row, err := range Read(strings.NewReader(text), o) {
		switch {
		case err != nil:
			rows = append(rows, err.Error())
		case row.Err != nil:
			rows = append(rows, fmt.Sprintf("%d: bad: %v", row.Line, row.Err))
		default:
			rows = append(rows, fmt.Sprintf("%d: %d %q %d %s", row.Line, row.Pet.ID, row.Pet.Name, row.Pet.CategoryID, row.Pet.Status))
		}
	}
	return rows
}

func TestRead(t *testing.T) {
	t.Parallel()
	csv, ids := Options{}, Options{IDs: true}
	large := strings.Repeat("x", maxBody)
	for name, c := range map[string]struct {
		text string
		o    Options
		want []string
	}{
		"csv":                {"name,categoryId,status\nRex,1,sold\nTom,-2,\n", csv, []string{`2: 0 "Rex" 1 sold`, `3: 0 "Tom" -2 available`}},
		"columns":            {"status,colour,categoryId,id,name\npending,red,3,x,Rex\n", csv, []string{`2: 0 "Rex" 3 pending`}},
		"byte order mark":    {"\ufeffname,categoryId\nRex,1\n", csv, []string{`2: 0 "Rex" 1 available`}},
		"blank lines":        {"\nname,categoryId\n\nRex,1\n\n", csv, []string{`4: 0 "Rex" 1 available`}},
		"quotes":             {"name,categoryId\n\"a\n\"\"b\"\",\",1\nTom,2\n", csv, []string{`2: 0 "a\n\"b\"," 1 available`, `4: 0 "Tom" 2 available`}},
		"number for text":    {"name,categoryId\n17,1\n", csv, []string{`2: 0 "17" 1 available`}},
		"text for number":    {"name,categoryId\na,x\na,null\na,\na,1\n", csv, []string{"2: bad: categoryId must be an integer of 64 bits, written in digits", "3: bad: categoryId must be an integer of 64 bits, written in digits", "4: bad: categoryId is required", `5: 0 "a" 1 available`}},
		"fields":             {"name,categoryId\na\na,1,2\nb,1\n", csv, []string{"2: bad: wrong number of fields", "3: bad: wrong number of fields", `4: 0 "b" 1 available`}},
		"stray quote":        {"name,categoryId\na\"b,1\nc,1\n", csv, []string{`2: bad: bare " in non-quoted-field`, `3: 0 "c" 1 available`}},
		"open quote":         {"name,categoryId\n\"a,1\nc,1\n", csv, []string{`2: bad: extraneous or missing " in quoted-field`}},
		"not UTF-8":          {"name,categoryId\na\xff,1\n", csv, []string{"2: bad: the row is not valid UTF-8"}},
		"large":              {"name,categoryId\n" + large + ",1\nc,1\n", csv, []string{"2: bad: the row is larger than 65536 bytes", `3: 0 "c" 1 available`}},
		"escapes make large": {"name,categoryId\n" + strings.Repeat("\x01", 11000) + ",1\n", csv, []string{"2: bad: the row is larger than 65536 bytes"}},
		"missing column":     {"name,status\na,sold\n", csv, []string{"pets: the header has no column categoryId; the first line must name the columns, such as name,categoryId,status"}},
		"case of a column":   {"Name,categoryId\na,1\n", csv, []string{"pets: the header has no column name; the first line must name the columns, such as name,categoryId,status"}},
		"a column twice":     {"name,categoryId,name\na,1,b\n", csv, []string{"pets: the first line names the column name twice"}},
		"a quote for ever":   {"name,categoryId\na,1\n\"" + strings.Repeat(large, 5), csv, []string{`2: 0 "a" 1 available`, "pets: the row is larger than 65536 bytes"}},
		"empty":              {"", csv, []string{"pets: the file is empty"}},
		"array":              {` [{"name":"a"}]`, csv, []string{"pets: the file is a JSON array; write one object per line instead, without brackets and commas between them"}},

		"ndjson":         {`{"name":"Rex","categoryId":1,"status":"sold","id":"x"}` + "\n\n" + ` {"categoryId":2,"name":"a\r\nb"}` + "\r\n", csv, []string{`1: 0 "Rex" 1 sold`, `3: 0 "a\r\nb" 2 available`}},
		"bad rows":       {`{"name":"Rex"}` + "\nx\n" + `{"name":"b","categoryId":2}`, Options{Format: NDJSON}, []string{"1: bad: categoryId is required", "2: bad: the body is not valid JSON in UTF-8: see byte 1", `3: 0 "b" 2 available`}},
		"long line":      {`{"name":"a","categoryId":1}` + "\n" + large + large + "\n", csv, []string{`1: 0 "a" 1 available`, "pets:2: the row is larger than 65536 bytes"}},
		"large object":   {`{"name":"` + large + `","categoryId":1}`, csv, []string{"1: bad: the row is larger than 65536 bytes"}},
		"forced format":  {"name,categoryId\n", Options{Format: NDJSON}, []string{"1: bad: the body is not valid JSON in UTF-8: see byte 2"}},
		"bad ids":        {"id,name,categoryId\n3,a,1\n3,b,1\n0,b,1\nx,b,1\n1.0,b,1\n,b,1\n9007199254740992,b,1\n4,b,1\n", ids, []string{`2: 3 "a" 1 available`, "3: bad: id must be greater than the one before it, 3", "4: bad: id must be between 1 and 9007199254740991", "5: bad: id must be an integer between 1 and 9007199254740991", "6: bad: id must be an integer between 1 and 9007199254740991", "7: bad: id is required", "8: bad: id must be between 1 and 9007199254740991", `9: 4 "b" 1 available`}},
		"case of id":     {`{"ID":4,"name":"a","categoryId":1}`, ids, []string{"1: bad: id is required"}},
		"largest export": {`{"id":1,"name":"` + large[:maxBody-28] + `","categoryId":1,"status":"available"}`, ids, []string{fmt.Sprintf(`1: 1 %q 1 available`, large[:maxBody-28])}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(c.text, c.o); !slices.Equal(got, c.want) {
				t.Errorf("got %.300q, want %.300q", got, c.want)
			}
		})
	}
}

// TestRoundTrip checks that an import restores the names of an export. Package property
// follows all properties.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	st := memory.New()
	for _, name := range []string{"", " ", "\r\n", "\n", `"`, `\.`, "null", "=cmd|' /C calc'!A0", "\ufeff\x01é🐕", strings.Repeat("\u2028", 21000)} {
		p := example.Pet()
		p.Name = name
		if _, err := st.CreatePet(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := st.Pets(t.Context(), pets.Query{Limit: 20})
	for _, format := range []Format{CSV, NDJSON} {
		var file bytes.Buffer
		if err := Export(t.Context(), st, &file, format, func() {}); err != nil {
			t.Fatal(err)
		}
		i := 0
		for row, err := range Read(&file, Options{Format: format, IDs: true, MaxBody: maxBody, Decode: decode}) {
			w := want.Pets[i]
			if format == CSV {
				w.Name = strings.ReplaceAll(w.Name, "\r\n", "\n")
			}
			if err := errors.Join(err, row.Err); err != nil || !reflect.DeepEqual(row.Pet, w) {
				t.Errorf("%s: got %+v, error %v, want %+v", format, row.Pet, err, w)
			}
			i++
		}
		if i != len(want.Pets) {
			t.Errorf("%s: got %d rows, want %d", format, i, len(want.Pets))
		}
	}
}

// TestImport imports a file with invalid rows. import.txtar imports good ones.
func TestImport(t *testing.T) {
	text := "name,categoryId\na,1\n" + strings.Repeat("b,x\n", 30) + "c,1\n"
	n, err := Import(t.Context(), memory.New(), Read(strings.NewReader(text), Options{MaxBody: maxBody, Decode: decode}), false)
	rejected, ok := errors.AsType[*Rejected](err)
	if n != 0 || !ok {
		t.Fatalf("got %d (%v), want *Rejected", n, err)
	}
	if len(rejected.First) != 20 || rejected.First[0].Line != 3 || rejected.Bad != 30 || rejected.Good != 2 {
		t.Errorf("rejected: got %+v, want 20 of 30 rows from line 3", rejected)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	for name, text := range map[string]string{"at once": "", "csv": "name,categoryId\na,1\n", "ndjson": `{"name":"a","categoryId":1}` + "\n"} {
		in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		n, err := Check(Read(in, Options{MaxBody: maxBody, Decode: decode}))
		if n != 0 || pets.KindOf(err) != pets.Invalid || !errors.Is(err, broken) {
			t.Errorf("%s: got %d (%v), want Invalid, for broken", name, n, err)
		}
	}
}

func TestExportPages(t *testing.T) {
	t.Parallel()
	st := memory.New()
	for range 2500 {
		if _, err := st.CreatePet(t.Context(), pets.NewPet{Name: "a", Status: pets.Sold}); err != nil {
			t.Fatal(err)
		}
	}
	errFull := errors.New("the disk is full")
	disk, full := io.Pipe()
	_ = disk.CloseWithError(errFull)
	for format, want := range map[Format]int{CSV: 2501, NDJSON: 2500} {
		var out bytes.Buffer
		if err := Export(t.Context(), st, &out, format, func() {}); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != want {
			t.Errorf("%s: got %d lines (%v), want %d", format, bytes.Count(out.Bytes(), []byte("\n")), err, want)
		}
		if err := Export(t.Context(), st, full, format, func() {}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the writer's error", format, err)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"a/b.CSV": CSV, "pets.ndjson": NDJSON, "pets.jsonl": NDJSON, "pets.json": "", "csv": ""} {
		if got := FormatOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestColumns writes values of every type to cells and reads them again.
func TestColumns(t *testing.T) {
	tags, size := column{name: "tags", optional: true}, column{name: "size"}
	for _, c := range []struct {
		column     column
		value      any
		cell, body string
	}{
		{tags, []string{"a", `"b",`}, `["a","\"b\","]`, `{"tags":["a","\"b\","]}`},
		{tags, []string{}, "[]", `{"tags":[]}`},
		{tags, []string(nil), "", "{}"},
		{size, map[string]int{"width": 1}, `{"width":1}`, `{"size":{"width":1}}`},
		{size, true, "true", `{"size":true}`},
		{size, -1.5, "-1.5", `{"size":-1.5}`},
		{column{name: "born", text: true}, time.Unix(0, 0).UTC(), "1970-01-01T00:00:00Z", `{"born":"1970-01-01T00:00:00Z"}`},
	} {
		cell := c.column.cell(reflect.ValueOf(c.value))
		body, err := object([]column{c.column}, []string{cell})
		if cell != c.cell || string(body) != c.body || err != nil {
			t.Errorf("%v: got the cell %s, the body %s, error %v, want %s, %s", c.value, cell, body, err, c.cell, c.body)
		}
	}
}
