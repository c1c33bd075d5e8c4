package contract

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/example"
)

// object is a JSON object, with numbers as written.
type object = map[string]any

// add creates a pet and checks that the response has what was sent.
func (s *suite) add(t *testing.T, body string, header ...string) object {
	t.Helper()
	send := strings.Join(append([]string{"POST /v1/pets", bearer(s.Key)}, header...), "\n")
	got := s.expect(t, testCase{send: send, body: body, want: "201"})
	pet, _ := decode(got.body).(object)
	s.wantEqual(t, pet, body)
	got.checkHeader(t, fmt.Sprintf("Location: .*/v1/pets/%v", pet["id"]))
	return pet
}

// wantEqual checks that a pet has the properties in a body that pets have.
func (s *suite) wantEqual(t *testing.T, pet object, body string) {
	t.Helper()
	for name, want := range decode(body).(object) {
		documented := s.document.Components.Schemas["Pet"].Value.Properties[name] != nil
		assert(t, !documented || reflect.DeepEqual(pet[name], want), "created: %s: got %v, want %v", name, pet[name], want)
	}
}

// get reads one pet.
func (s *suite) get(t *testing.T, id string) object {
	t.Helper()
	pet, _ := decode(s.expect(t, testCase{send: "GET /v1/pets/" + id + "\n" + bearer(s.Key), want: "200"}).body).(object)
	return pet
}

// create tests that each value that is valid is read as it was sent, by each operation that
// reads, and that a repeated request returns the same pet.
func (s *suite) create(t *testing.T) {
	content := s.document.Paths.Value("/pets").Post.RequestBody.Value.Content["application/json"]
	answers := s.document.Paths.Value("/pets").Post.Responses.Status(201).Value.Content["application/json"]
	for name, e := range content.Examples { // each has an answer of the same name
		want := maps.Clone(answers.Examples[name].Value.Value.(object))
		delete(want, "id")
		s.wantEqual(t, s.add(t, encode(e.Value.Value)), encode(want))
	}
	created := map[string]object{}
	for name, p := range content.Schema.Value.Properties {
		good, _ := values(p.Value)
		for i, v := range good {
			body, key := example.Body(encode(name)+":"+v), fmt.Sprint("Idempotency-Key: ", s.run, name, i)
			pet := s.add(t, body, key)
			id := fmt.Sprint(pet["id"])
			assert(t, created[id] == nil, "got the id %s twice", id)
			created[id] = pet
			for what, got := range map[string]object{
				"repeated": s.add(t, body, key), "get": s.get(t, id), "get, percent-encoded": s.get(t, "%3"+id),
			} {
				assert(t, reflect.DeepEqual(got, pet), "%s: got %v, want %v", what, got, pet)
			}
		}
	}
	before := ""
	for _, v := range s.walk(t, "/v1/pets?limit=100", 100) {
		id := fmt.Sprint(v.(object)["id"])
		assert(t, len(id) > len(before) || len(id) == len(before) && id > before, "list: got %s after %s, want ids that ascend", id, before)
		assert(t, created[id] == nil || reflect.DeepEqual(v, any(created[id])), "list: got %v, want %v", v, created[id])
		delete(created, id)
		before = id
	}
	assert(t, len(created) == 0, "list: got none of %v, want each", created)
}

// retry tests which requests are the same: an Idempotency-Key has two forms, belongs to an
// API key, and is not used up by an invalid request. The values are those after defaults.
func (s *suite) retry(t *testing.T) {
	seen := map[any]string{}
	for _, key := range []string{"a", "a1", "A", " c", `\d`, `\A`, `"A`, strings.Repeat("k", 255-len(s.run))} {
		key = s.run + key
		quoted := "Idempotency-Key: " + strconv.Quote(key)
		c := testCase{send: "POST /v1/pets\n" + quoted, body: "{", want: "400 invalid_body"}
		s.try(t, c)
		pet := s.add(t, example.Body(), quoted)
		assert(t, seen[pet["id"]] == "", "Idempotency-Key %s: got the pet of %s, want another", key, seen[pet["id"]])
		seen[pet["id"]] = key
		again := s.add(t, example.Body(`"status":"available"`, `"x":1`), quoted)
		assert(t, reflect.DeepEqual(again, pet), "Idempotency-Key %s: got %v, want %v", key, again, pet)
		if !strings.Contains(key, `"`) {
			bare := s.add(t, example.Body(), "Idempotency-Key: "+key)
			assert(t, reflect.DeepEqual(bare, pet), "Idempotency-Key %s without quotes: got %v, want %v", key, bare, pet)
		}
		for _, other := range []string{`"name":"frank"`, `"name":""`, `"categoryId":2`, `"categoryId":-1`, `"status":"sold"`} {
			c.body, c.want, c.says = example.Body(other), "422 idempotency_key_reused", "Idempotency-Key"
			s.try(t, c)
		}
	}
	others := []object{s.add(t, example.Body()), s.add(t, example.Body())}
	if s.OtherKey != "" {
		mine := s.Key
		s.Key = s.OtherKey
		others = append(others, s.add(t, example.Body(), "Idempotency-Key: "+s.run+"a1"))
		s.Key = mine
	}
	for _, pet := range others {
		assert(t, seen[pet["id"]] == "", "without the key, or with another API key: got the pet of %s, want another", seen[pet["id"]])
		seen[pet["id"]] = "another"
	}
}

// pages tests the links between pages: a client that cannot read them sends the same.
func (s *suite) pages(t *testing.T) {
	for range 11 { // with what the other tests have added, there are more than a page by default
		s.add(t, example.Body(`"status":"sold"`))
		s.add(t, example.Body())
	}
	page, next := s.page(t, "/v1/pets")
	assert(t, len(page) == 20 && strings.Contains(next, "limit=20&"), "without a limit: got %d and the link %s, want 20", len(page), next)
	page, next = s.page(t, "/v1/pets?other=1&status=sold&limit=2")
	last := page[len(page)-1].(object)["id"]
	want := url.Values{"limit": {"2"}, "status": {"sold"}, "after": {fmt.Sprint(last)}}
	path, query, _ := strings.Cut(next, "?")
	got, err := url.ParseQuery(query)
	assert(t, err == nil && path == "/v1/pets" && reflect.DeepEqual(got, want), "link: got %s, want /v1/pets?%s", next, want.Encode())
}

// longTexts tests that a page ends with the pet that brings the names to 32 KiB.
func (s *suite) longTexts(t *testing.T) {
	const most = 32 << 10
	next := fmt.Sprintf("/v1/pets?limit=100&after=%v", s.add(t, example.Body())["id"])
	pages := [][]int{{most - 1, 1}, {most - 1, 0, 1}, {most}, {3, most - 2}}
	for _, sizes := range pages {
		for _, size := range sizes {
			s.add(t, example.BodyNamed(example.LongText(size)))
		}
	}
	for i, sizes := range pages {
		page, link := s.page(t, next)
		assert(t, len(page) == len(sizes) && (link != "") == (i+1 < len(pages)),
			"names of %v bytes: got a page of %d and the link %q, want all of them", sizes, len(page), link)
		next = link
	}
}
