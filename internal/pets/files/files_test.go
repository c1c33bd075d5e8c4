package files_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/files"
	"example.com/petstore/internal/pets/service"
	"example.com/petstore/internal/pets/web"
)

// body reads bodies as the service does.
var body = func() files.Body {
	body, err := web.Body()
	if err != nil {
		panic(err)
	}
	return body
}()

// readAll returns the rows of a file, or the fault of the file as a whole.
func readAll(t rapid.TB, f files.Reading, file []byte) (all []files.Row, fault error) {
	t.Helper()
	f.Body = body
	for row, err := range f.Rows(bytes.NewReader(file)) {
		if err != nil {
			return all, fmt.Errorf("%d: %w", row.Line, err)
		}
		all = append(all, row)
	}
	return all, nil
}

// lines returns of each row its line and its name, or what is wrong with it.
func lines(all []files.Row) (lines []string) {
	for _, row := range all {
		text := fmt.Sprintf("%q", row.Pet.Name)
		if row.Err != nil {
			text = row.Err.Error()
		}
		lines = append(lines, fmt.Sprintf("%d: %s", row.Line, text))
	}
	return lines
}

func TestEveryRowIsNamedByTheLineOnWhichItBegins(t *testing.T) {
	const badCategory = "categoryId must be an integer between -9223372036854775808 and 9223372036854775807"
	for what, c := range map[string]struct {
		file string
		want []string
	}{
		"names with line breaks": {
			"name,categoryId\n\"a\nb\",1\n\"c\r\nd\re\",x\r\n\nf,2",
			[]string{`2: "a\nb"`, "4: " + badCategory, `7: "f"`},
		},
		"a byte order mark and CR LF": {
			"\xef\xbb\xbfname,categoryId\r\na,1\r\nb,1\r\n",
			[]string{`2: "a"`, `3: "b"`},
		},
		"quotes in all places": {
			"\"name\",\"categoryId\"\n\"\"\"a\"\"\",\"1\"\n\"\",2\n,3\n",
			[]string{`2: "\"a\""`, `3: ""`, `4: ""`},
		},
		"text that other programs would change": {
			"name,categoryId\n a ,1\n*Rex,1\n=1+1,1\n@x,1\n-1,1\n",
			[]string{`2: " a "`, `3: "*Rex"`, `4: "=1+1"`, `5: "@x"`, `6: "-1"`},
		},
		"faults, and what follows them": {
			"name,categoryId\na\"b,1\n\"a\"b,1\na\rb,1\na\na,1,2\nb,1\n\"c,1\nd,1\n",
			[]string{
				`2: a quote stands inside a field: put the whole field in quotes and write two, ""`,
				"3: a closing quote is followed by neither a comma nor the end of the line",
				"4: a carriage return stands outside quotes; lines end in LF or CR LF",
				"5: the row has 1 fields, the first line 2",
				"6: the row has 3 fields, the first line 2",
				`7: "b"`,
				"8: a quote is opened and never closed",
			},
		},
		"a row without end": {
			"name,categoryId\n" + strings.Repeat("x", 100_000) + ",1\nb,1\n\"" + strings.Repeat("x\n", 50_000) + "\",1\nc,2\n",
			[]string{"2: the row is larger than 65536 bytes", `3: "b"`, "4: the row is larger than 65536 bytes", `50005: "c"`},
		},
		"JSON": {
			"{\"name\":\"a\",\"categoryId\":1}\n\n  \r\n{\"name\":\"b\"}\n{\"name\":\"c\",\"categoryId\":1,\"status\":\"lost\"}\n{\"name\":\n",
			[]string{
				`1: "a"`, "4: categoryId is required", "5: status must be one of available, pending, sold",
				"6: the row ends before its JSON does; an object must stand on one line",
			},
		},
	} {
		all, fault := readAll(t, files.Reading{}, []byte(c.file))
		if got := lines(all); fault != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q (error %v), want %q", what, got, fault, c.want)
		}
	}
}

// optionalColumns returns the columns that the header of an export has beside the
// required ones.
func optionalColumns(t *testing.T) string {
	t.Helper()
	var file bytes.Buffer
	w, err := files.NewWriter(&file, files.CSV, nil)
	if err == nil {
		err = w.Flush()
	}
	optional, found := strings.CutPrefix(strings.TrimSpace(file.String()), "id,name,categoryId,")
	if err != nil || !found {
		t.Fatalf("the header of an export: got %q (%v), want the required columns first", file.String(), err)
	}
	return strings.ReplaceAll(optional, ",", ", ")
}

func TestAFileThatCannotBeReadIsRefusedWithWhatItNeeds(t *testing.T) {
	for what, c := range map[string]struct {
		reading files.Reading
		file    string
		want    string
	}{
		"an empty file":          {files.Reading{}, "", "0: the file is empty"},
		"only a byte order mark": {files.Reading{}, "\xef\xbb\xbf\n", "0: the file is empty"},
		"an empty CSV file":      {files.Reading{Format: files.CSV}, "\n", "0: the file is empty; its first line must name the columns, such as name,categoryId,status"},
		"no header":              {files.Reading{}, "Frank,1,sold\n", "1: there is no column name: the first line must name the columns name, categoryId and may name OPTIONAL"},
		"another case":           {files.Reading{}, "Name,CategoryId\n", "1: there is no column name: the first line must name the columns name, categoryId and may name OPTIONAL"},
		"a missing column":       {files.Reading{}, "\nname,status\n", "2: there is no column categoryId: the first line must name the columns name, categoryId and may name OPTIONAL"},
		"no identifiers":         {files.Reading{IDs: true}, "name,categoryId\n", "1: there is no column id: the first line must name the columns id, name, categoryId and may name OPTIONAL"},
		"semicolons":             {files.Reading{}, "name;categoryId\n", "1: there is no column name: the first line must name the columns name, categoryId and may name OPTIONAL, with commas between them"},
		"a column twice":         {files.Reading{}, "name,categoryId,x,x\n", `1: the column "x" is there twice`},
		"a quote in the header":  {files.Reading{}, "na\"me,categoryId\n", `1: a quote stands inside a field: put the whole field in quotes and write two, ""`},
		"a JSON array":           {files.Reading{}, `[{"name":"a","categoryId":1}]`, "0: the file is a JSON array; write one object a line instead, without brackets and commas between them"},
		"UTF-16":                 {files.Reading{}, "\xff\xfen\x00a\x00", "0: the file is neither CSV nor NDJSON; save the table as one of them, in UTF-8"},
	} {
		all, fault := readAll(t, c.reading, []byte(c.file))
		want := strings.Replace(c.want, "OPTIONAL", optionalColumns(t), 1)
		if fault == nil || fault.Error() != want || len(all) > 0 {
			t.Errorf("%s: got %d rows, error %v, want the error %s", what, len(all), fault, want)
		}
	}
	broken := errors.New("the disk broke")
	for _, format := range []files.Format{"", files.CSV, files.NDJSON} {
		for _, err := range (files.Reading{Format: format, Body: body}).Rows(iotest.ErrReader(broken)) {
			if err != broken {
				t.Errorf("format %q of a broken file: got %v, want %v", format, err, broken)
			}
		}
	}
}

func TestUnknownColumnsAreIgnoredAndIdentifiersUnlessTheyAreAskedFor(t *testing.T) {
	for _, file := range []string{
		"id,x,name,,categoryId,\nseven,é,Rex,,1,\n",
		`{"id":"seven","x":null,"name":"Rex","categoryId":1}`,
	} {
		want := files.Row{Pet: pets.NewPet{Name: "Rex", CategoryID: 1, Status: pets.Available}}
		all, fault := readAll(t, files.Reading{}, []byte(file))
		if fault != nil || len(all) != 1 {
			t.Fatalf("%q: got %d rows, error %v, want one", file, len(all), fault)
		}
		want.Line = all[0].Line
		if all[0] != want {
			t.Errorf("%q: got %+v, want %+v", file, all[0], want)
		}
		all, _ = readAll(t, files.Reading{IDs: true}, []byte(file))
		if len(all) != 1 || all[0].Err == nil || all[0].Err.Error() != "id must be an integer between 1 and 9007199254740991" {
			t.Errorf("%q with identifiers: got %+v, want its id refused", file, all)
		}
	}
}

func TestIdentifiersMustAscend(t *testing.T) {
	var csv, ndjson strings.Builder
	csv.WriteString("id,name,categoryId\n")
	ids := []string{"3", "3", "2", "4", "0", "-1", "9007199254740991", "9007199254740992", "1e3", "", "05"}
	for _, id := range ids {
		fmt.Fprintf(&csv, "%s,Rex,1\n", id)
		fmt.Fprintf(&ndjson, "{\"id\":%s,\"name\":\"Rex\",\"categoryId\":1}\n", cmp.Or(id, `""`))
	}
	for _, file := range []string{csv.String(), ndjson.String()} {
		all, fault := readAll(t, files.Reading{IDs: true}, []byte(file))
		if fault != nil || len(all) != len(ids) {
			t.Fatalf("got %d rows, error %v, want %d", len(all), fault, len(ids))
		}
		var good []string
		for i, row := range all {
			if row.Err == nil {
				good = append(good, ids[i])
			}
		}
		if want := []string{"3", "4", "9007199254740991"}; !slices.Equal(good, want) {
			t.Errorf("accepted: got %v, want %v", good, want)
		}
	}
}

// names are drawn with all characters that mean something to CSV or JSON. Now and
// then one is so long that the body which made the pet was the greatest.
func drawName(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune(" \t\r\n\",;'*=+-@\\/{}[]\u2028\ufeff\ufffd🐕é\x01\x1a\x7f"))),
		rapid.SampledFrom([]string{"", " ", "\r\n", "\r", "\n", `"`, `""`, ",", "NULL", "null", "\ufeff", "=cmd|' /C calc'!A0", strings.Repeat("x", 65536-len(`{"name":"","categoryId":-9223372036854775808}`))}),
	).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }).Draw(t, "name")
}

func TestWhatIsWrittenIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var animals []pets.Pet
		id := int64(0)
		for range rapid.IntRange(0, 5).Draw(rt, "pets") {
			id += rapid.OneOf(rapid.Int64Range(1, 3), rapid.Just(int64(pets.MaxID/6))).Draw(rt, "gap")
			animals = append(animals, pets.Pet{
				ID: id, Name: drawName(rt),
				CategoryID: rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(rt, "category"),
				Status:     rapid.SampledFrom(pets.Statuses()).Draw(rt, "status"),
			})
		}
		for _, format := range []files.Format{files.CSV, files.NDJSON} {
			var file bytes.Buffer
			w, err := files.NewWriter(&file, format, service.AppendPet)
			if err != nil {
				rt.Fatal(err)
			}
			for _, p := range animals {
				if len(p.Name) > 60_000 {
					p.Status = pets.Available // which its body did not have to name
				}
				if err := w.Write(p); err != nil {
					rt.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				rt.Fatal(err)
			}
			all, fault := readAll(rt, files.Reading{Format: format, IDs: true}, file.Bytes())
			if fault != nil || len(all) != len(animals) {
				rt.Fatalf("%s: got %d rows, error %v, want %d", format, len(all), fault, len(animals))
			}
			for i, row := range all {
				want := animals[i]
				if len(want.Name) > 60_000 {
					want.Status = pets.Available
				}
				if got := row.Pet.WithID(row.ID); row.Err != nil || got != want {
					rt.Errorf("%s: got %.200v (%v), want %.200v", format, got, row.Err, want)
				}
			}
		}
	})
}

func TestTheEndingOfANameTellsTheFormat(t *testing.T) {
	for name, want := range map[string]files.Format{
		"pets.csv": files.CSV, "a/b.CSV": files.CSV, "pets.ndjson": files.NDJSON, "pets.jsonl": files.NDJSON,
		"pets.json": "", "pets": "", "-": "", "csv": "",
	} {
		if got := files.FormatOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
