package contract

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/files"
	"example.com/petstore/internal/proof/property"
	"example.com/petstore/internal/service"
)

type rapidT struct{ *rapid.T }

func (t rapidT) Run(_ string, f func(T)) { f(t) }

// TestProperties adds random pets to a store and checks that they come back unchanged:
// from get, list and repeated requests, and after an export and an import into another
// store. A new property needs no change here.
func TestProperties(t *testing.T) {
	decodeRow, err := service.BodyDecoder()
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := open(t)
			c := newSuiteOn(t, st).collection("/pets")
			var created []resource
			rapid.Check(t, func(rt *rapid.T) {
				t := rapidT{rt}
				key := fmt.Sprint("Idempotency-Key: ", len(created))
				body := property.Object(c.create.body).Draw(rt, "body")
				made := c.add(t, property.Encode(body), key)
				created = append(created, made)
				c.isRead(t, made, true)
				equal(t, "created again", c.add(t, property.Encode(body), key), made)
				for _, name := range slices.Sorted(maps.Keys(c.create.body.Properties)) { // any change makes another pet
					other := maps.Clone(body)
					other[name] = property.Value(c.create.body.Properties[name].Value).Draw(rt, "other "+name)
					if text := property.Encode(other); !reflect.DeepEqual(decode(text)[name], made[name]) {
						c.expect(t, c.post(text, key), want{status: 422})
					}
				}
			})
			for _, format := range []files.Format{files.CSV, files.NDJSON} {
				for _, withIDs := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/IDs=%v", format, withIDs), func(t *testing.T) {
						var file bytes.Buffer
						if err := files.Export(t.Context(), st, &file, format, func() {}); err != nil {
							t.Fatalf("Export: got error %v", err)
						}
						imported := open(t)
						s := newSuiteOn(t, imported)
						rows := files.Read(&file, files.Options{Format: format, IDs: withIDs, MaxBody: edge.MaxBody, Decode: decodeRow})
						if n, err := files.Import(t.Context(), imported, rows, withIDs); err != nil || n != len(created) {
							t.Fatalf("Import: got %d, error %v, want %d", n, err, len(created))
						}
						for i, got := range s.walk(testT{t}, "?limit=10", 10) {
							want := maps.Clone(created[i])
							if !withIDs {
								want["id"] = got["id"]
							}
							equal(testT{t}, "imported", got, want)
						}
					})
				}
			}
		})
	}
}
