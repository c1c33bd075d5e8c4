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

// TestProperties adds random resources to a store and checks that they come back
// unchanged: from get, lists and repeated requests, and after a copy into another store,
// but for one in memory. A new property or collection needs no change here.
func TestProperties(t *testing.T) {
	for name, newAddress := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := newAddress(t)
			s := newSuiteOn(t, openStore(t, addr))
			paths := map[*collection]string{}
			for i, c := range s.collections {
				if c.create.method == "" {
					continue
				}
				under := c.newParent(testT{t}, 1)
				paths[c] = c.base + c.path(under)
				created := 0
				rapid.Check(t, func(rt *rapid.T) {
					t, key := rapidT{rt}, fmt.Sprintf("Idempotency-Key: %d-%d", i, created)
					created++
					body := property.Object(c.create.body).Draw(rt, "body")
					made := c.add(t, under, body, key)
					made.isRead(t, true)
					if c.create.parameter("header", "Idempotency-Key") == nil {
						return
					}
					c.equal(t, "added again", c.add(t, under, body, key).value, made.value)
					for _, name := range slices.Sorted(maps.Keys(c.create.body.Properties)) { // any change makes another one
						other := maps.Clone(body)
						other[name] = property.Value(c.create.body.Properties[name].Value).Draw(rt, "other "+name)
						r := c.to(c.create, c.path(under)).withBody(other).with(key)
						if !reflect.DeepEqual(decode([]byte(r.body))[name], made.value[name]) {
							c.expect(t, r, want{status: 422})
						}
					}
				})
			}
			if name == "memory" {
				return
			}
			copied := openStore(t, newAddress(t))
			a := parse(t, addr)
			from, err := a.OpenReader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			if err := from.Snapshot(t.Context(), func(s store.Snapshot) error { return copied.Fill(t.Context(), s) }); err != nil {
				t.Fatalf("copying: got error %v", err)
			}
			for i, c := range newSuiteOn(t, copied).collections {
				path := paths[s.collections[i]]
				if path == "" {
					continue
				}
				if got, want := c.walk(testT{t}, path), s.collections[i].walk(testT{t}, path); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, copied: got %v, want %v", path, got, want)
				}
			}
		})
	}
}
