package files

import (
	"reflect"
	"testing"
	"time"
)

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
