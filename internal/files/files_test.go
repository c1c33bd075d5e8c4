package files_test

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

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/files"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

const maxBody = edge.MaxBody

var decode, _ = service.BodyDecoder()

// read returns a line for each row of text: its pet, or why it is invalid.
func read(text string, o files.Options) (rows []string) {
	o.Name, o.MaxBody, o.Decode = "pets", maxBody, decode
	for row, err := range files.Read(strings.NewReader(text), o) {
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

// TestReadExample reads a pet with every required property of the document.
func TestReadExample(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"csv": example.Header() + example.Row(), "ndjson": example.Body()} {
		for row, err := range files.Read(strings.NewReader(text), files.Options{Name: name, MaxBody: maxBody, Decode: decode}) {
			if err := errors.Join(err, row.Err); err != nil || !reflect.DeepEqual(row.Pet.WithoutID(), example.Pet()) {
				t.Errorf("%s: got %+v, error %v, want %+v", name, row.Pet, err, example.Pet())
			}
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	csv, ids := files.Options{}, files.Options{IDs: true}
	large := strings.Repeat("x", maxBody)
	for name, c := range map[string]struct {
		text string
		o    files.Options
		want []string
	}{
		"csv":                {"name,categoryId,status\nRex,1,sold\nTom,-2,\n", csv, []string{`2: 0 "Rex" 1 sold`, `3: 0 "Tom" -2 available`}},
		"columns":            {"status,colour,categoryId,id,name\npending,red,3,x,Rex\n", csv, []string{`2: 0 "Rex" 3 pending`}},
		"no status":          {"name,categoryId\r\nRex,1\r\n", csv, []string{`2: 0 "Rex" 1 available`}},
		"no end of line":     {"name,categoryId\nRex,1", csv, []string{`2: 0 "Rex" 1 available`}},
		"byte order mark":    {"\ufeffname,categoryId\nRex,1\n", csv, []string{`2: 0 "Rex" 1 available`}},
		"mark in JSON":       {"\ufeff" + `{"name":"Rex","categoryId":1}`, csv, []string{`1: 0 "Rex" 1 available`}},
		"blank lines":        {"\nname,categoryId\n\nRex,1\n\n", csv, []string{`4: 0 "Rex" 1 available`}},
		"quotes":             {"name,categoryId\n\"a\n\"\"b\"\",\",1\nTom,2\n", csv, []string{`2: 0 "a\n\"b\"," 1 available`, `4: 0 "Tom" 2 available`}},
		"carriage return":    {"name,categoryId\n\"a\rb\r\nc\",1\n", csv, []string{`2: 0 "a\rb\nc" 1 available`}},
		"empty name":         {"name,categoryId\n,1\n", csv, []string{`2: 0 "" 1 available`}},
		"number for text":    {"name,categoryId\n17,1\n", csv, []string{`2: 0 "17" 1 available`}},
		"exact number":       {"name,categoryId\na,9007199254740993\n", csv, []string{`2: 0 "a" 9007199254740993 available`}},
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
		"bad rows":       {`{"name":"Rex"}` + "\nx\n" + `{"name":"b","categoryId":2}`, files.Options{Format: files.NDJSON}, []string{"1: bad: categoryId is required", "2: bad: the body is not valid JSON in UTF-8: see byte 1", `3: 0 "b" 2 available`}},
		"long line":      {`{"name":"a","categoryId":1}` + "\n" + large + large + "\n", csv, []string{`1: 0 "a" 1 available`, "pets:2: the row is larger than 65536 bytes"}},
		"large object":   {`{"name":"` + large + `","categoryId":1}`, csv, []string{"1: bad: the row is larger than 65536 bytes"}},
		"no NDJSON":      {"", files.Options{Format: files.NDJSON}, nil},
		"forced format":  {"name,categoryId\n", files.Options{Format: files.NDJSON}, []string{"1: bad: the body is not valid JSON in UTF-8: see byte 2"}},
		"ids":            {"id,name,categoryId\n3,a,1\n7,b,1\n", ids, []string{`2: 3 "a" 1 available`, `3: 7 "b" 1 available`}},
		"bad ids":        {"id,name,categoryId\n3,a,1\n3,b,1\n0,b,1\nx,b,1\n1.0,b,1\n,b,1\n9007199254740992,b,1\n4,b,1\n", ids, []string{`2: 3 "a" 1 available`, "3: bad: id must be greater than the one before it, 3", "4: bad: id must be between 1 and 9007199254740991", "5: bad: id must be an integer between 1 and 9007199254740991", "6: bad: id must be an integer between 1 and 9007199254740991", "7: bad: id is required", "8: bad: id must be between 1 and 9007199254740991", `9: 4 "b" 1 available`}},
		"no id column":   {"name,categoryId\na,1\n", ids, []string{"pets: the header has no column id; the first line must name the columns, such as name,categoryId,status"}},
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
	for _, format := range []files.Format{files.CSV, files.NDJSON} {
		var file bytes.Buffer
		if err := files.Export(t.Context(), st, &file, format, func() {}); err != nil {
			t.Fatal(err)
		}
		i := 0
		for row, err := range files.Read(&file, files.Options{Format: format, IDs: true, MaxBody: maxBody, Decode: decode}) {
			w := want.Pets[i]
			if format == files.CSV {
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

func TestImport(t *testing.T) {
	t.Parallel()
	st := memory.New()
	imported := func(text string) (int, error) {
		return files.Import(t.Context(), st, files.Read(strings.NewReader(text), files.Options{MaxBody: maxBody, Decode: decode}), false)
	}
	var rejected *files.Rejected
	text := "name,categoryId\na,1\n" + strings.Repeat("b,x\n", 30) + "c,1\n"
	if n, err := imported(text); n != 0 || !errors.As(err, &rejected) {
		t.Fatalf("got %d (%v), want *Rejected", n, err)
	}
	if len(rejected.First) != 20 || rejected.First[0].Line != 3 || rejected.Bad != 30 || rejected.Good != 2 {
		t.Errorf("rejected: got %+v, want 20 of 30 rows from line 3", rejected)
	}
	if n, err := imported("name,categoryId\na,1\nb,2\n"); n != 2 || err != nil {
		t.Errorf("got %d (%v), want 2", n, err)
	}
	got, err := st.Pets(t.Context(), pets.Query{Limit: 9})
	if err != nil || len(got.Pets) != 2 || got.Pets[1].Name != "b" {
		t.Errorf("store: got %v (%v), want a and b", got.Pets, err)
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, text := range map[string]string{"at once": "", "csv": "name,categoryId\na,1\n", "ndjson": `{"name":"a","categoryId":1}` + "\n"} {
		in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		n, err := files.Check(files.Read(in, files.Options{MaxBody: maxBody, Decode: decode}))
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
	for format, want := range map[files.Format]int{files.CSV: 2501, files.NDJSON: 2500} {
		var out bytes.Buffer
		if err := files.Export(t.Context(), st, &out, format, func() {}); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != want {
			t.Errorf("%s: got %d lines (%v), want %d", format, bytes.Count(out.Bytes(), []byte("\n")), err, want)
		}
		if err := files.Export(t.Context(), st, full, format, func() {}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the writer's error", format, err)
		}
	}
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]files.Format{
		"pets.csv": files.CSV, "a/b.CSV": files.CSV, "pets.ndjson": files.NDJSON, "pets.jsonl": files.NDJSON,
		"pets.json": "", "pets": "", "-": "", "csv": "",
	} {
		if got := files.FormatOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
