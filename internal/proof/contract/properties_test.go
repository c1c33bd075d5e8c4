package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/proof/property"
	"example.com/petstore/internal/store"
)

type rapidT struct{ *rapid.T }

func (t rapidT) Run(_ string, f func(T)) { f(t) }

// TestProperties adds random pets to a store and checks that they come back unchanged:
// from get, list and repeated requests, and after a copy into another store. A new
// property needs no change here.
func TestProperties(t *testing.T) {
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
			filled := open(t)
			err := st.Snapshot(t.Context(), func(s store.Snapshot) error { return filled.Fill(t.Context(), s) })
			if err != nil {
				t.Fatalf("copying: got error %v", err)
			}
			for i, got := range newSuiteOn(t, filled).walk(testT{t}, "?limit=10", 10) {
				equal(testT{t}, "copied", got, created[i])
			}
		})
	}
}
