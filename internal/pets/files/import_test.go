package files_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/files"
	"example.com/petstore/internal/pets/store/memory"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// imported imports a file of that text, in both readings, and returns what the
// store has then.
func imported(t *testing.T, text string) (files.Import, []pets.Pet, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := files.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	st := memory.New()
	t.Cleanup(func() { _ = st.Close() })
	im := files.Import{Source: src, Reading: files.Reading{Body: body}, Reject: func(files.Row) error { return nil }, Step: func() {}}
	if err := im.Check(t.Context()); err != nil {
		return im, nil, err
	}
	if src.Part() != 1 {
		t.Errorf("read: got %v of the file, want all", src.Part())
	}
	if _, err := im.Store(t.Context(), st); err != nil {
		return im, nil, err
	}
	page, err := st.Pets(t.Context(), pets.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return im, page.Pets, nil
}

const twoPets = "name,categoryId\nFrank,1\nKitty,2\n"

func TestAFileThatGzipHasCompressedIsRead(t *testing.T) {
	many := strings.Repeat("\n", 100_000) // well below what may be expanded freely
	for what, file := range map[string]string{
		"compressed":      gzipped(t, twoPets),
		"in two parts":    gzipped(t, twoPets[:20]) + gzipped(t, twoPets[20:]),
		"of many times":   gzipped(t, twoPets+many),
		"not compressed":  twoPets,
		"of JSON objects": gzipped(t, `{"name":"Frank","categoryId":1}`+"\n"+`{"name":"Kitty","categoryId":2}`),
	} {
		_, animals, err := imported(t, file)
		if err != nil || len(animals) != 2 || animals[0].Name != "Frank" || animals[1].CategoryID != 2 {
			t.Errorf("%s: got %v (%v), want Frank and Kitty", what, animals, err)
		}
	}
}

func TestACompressedFileThatIsDamagedIsRefused(t *testing.T) {
	sound := gzipped(t, twoPets)
	flipped := []byte(sound)
	flipped[len(flipped)-6] ^= 1 // in its checksum
	for what, c := range map[string]struct{ file, want string }{
		"cut short":          {sound[:len(sound)-4], "gzip data is damaged or ends too early"},
		"only the beginning": {sound[:3], "gzip data is damaged or ends too early"},
		"of a wrong sum":     {string(flipped), "gzip data is damaged or ends too early"},
		"with a tail":        {sound + "tail, of no meaning", "gzip data is damaged or ends too early"},
	} {
		if _, animals, err := imported(t, c.file); err == nil || !strings.Contains(err.Error(), c.want) || len(animals) > 0 {
			t.Errorf("%s: got %v (%v), want an error that says %s", what, animals, err, c.want)
		}
	}
}

func TestAFileOfAnotherKindIsRefused(t *testing.T) {
	const other = "the file is neither CSV nor NDJSON; save the table as one of them, in UTF-8"
	for head, want := range map[string]string{
		"PK\x03\x04\x14\x00":               other,
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": other,
		"(\xb5/\xfd\x04":                   other,
		"\xfd7zXZ\x00":                     other,
		"BZh91AY&SY\xe1\x84":               other,
		"SQLite format 3\x00":              other,
		"n\x00a\x00m\x00e\x00\n\x00":       other,
		gzipped(t, "PK\x03\x04 and so on"): other,
		gzipped(t, gzipped(t, "name,cat")): other,
		"%PDF-1.7\n%\xe2\xe3":              "there is no column name",
		"[{\"name\":\"a\"}]":               "a JSON array; write one object a line",
		gzipped(t, "[{\"name\":\"a\"}]\n"): "a JSON array",
	} {
		if _, _, err := imported(t, head); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: got %v, want an error that says %s", head, err, want)
		}
	}
}

func TestRejectsHoldEachRowWithItsLineReasonAndText(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	var out bytes.Buffer
	rejects := files.NewRejects(&out)
	file := "name,categoryId\n\"a\n\"\"b\"\"\",x\r\nRex,1\nc\"d,1\n" + long + ",1\n"
	for row, err := range (files.Reading{Body: body}).Rows(strings.NewReader(file)) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Err == nil {
			if row.Raw != "" {
				t.Errorf("line %d: got a text of %q, want none of a row that is accepted", row.Line, row.Raw)
			}
			continue
		}
		if err := rejects.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := rejects.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "line,reason,row\n" +
		`2,"categoryId must be an integer between -9223372036854775808 and 9223372036854775807","""a` + "\n" + `""""b"""""",x"` + "\n" +
		`5,"a quote stands inside a field: put the whole field in quotes and write two, """"","c""d,1"` + "\n" +
		`6,"the row is larger than 65536 bytes","` + long[:65536+64] + `"` + "\n"
	if out.String() != want {
		t.Errorf("got %.400q, want %.400q", out.String(), want)
	}
}

func TestAnExportEndsWithItsContext(t *testing.T) {
	st := memory.New()
	t.Cleanup(func() { _ = st.Close() })
	for range 1500 {
		if _, err := st.CreatePet(t.Context(), pets.NewPet{Name: "Rex", Status: pets.Sold}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := files.Export(ctx, st, io.Discard, files.CSV, nil, func() {
		if n++; n == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || n != 1000 {
		t.Errorf("got %d pets and error %v, want one page and canceled", n, err)
	}
}
