package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxPageText is the size of texts in bytes of UTF-8 with which a page ends.
const maxPageText = 32 << 10

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// all returns the resources of a list.
func (c *collection) all(t *testing.T, under *stored) []resource {
	return c.walk(t, fmt.Sprintf("%s?limit=%d", c.path(under), c.maxLimit))
}

// walk follows the links from a page on, and returns all resources.
func (c *collection) walk(t *testing.T, target string) (all []resource) {
	for seen := map[string]bool{}; target != ""; {
		if seen[target] {
			t.Fatalf("%s: got a link to it from a later page", target)
		}
		seen[target] = true
		page, next := c.page(t, target)
		all, target = append(all, page...), next
	}
	return all
}

// page returns the resources of a page and the link to the next one. It checks where the
// page ends: with as many resources as limit, or with the one that brings the texts to
// maxPageText.
func (c *collection) page(t *testing.T, target string) (page []resource, next string) {
	got := c.expect(t, c.to(c.list, target), want{status: http.StatusOK})
	list, _ := decode(got.body).([]any)
	at, _ := url.Parse(target)
	limit, full, text := c.limit(at.Query()), false, 0
	for _, v := range list {
		if full {
			t.Fatalf("%s: got a page of %d, want it to end with the %dth", target, len(list), len(page))
		}
		r, _ := v.(resource)
		page = append(page, r)
		text += c.textSize(r)
		full = len(page) == limit || text >= maxPageText
	}
	if m := nextLink.FindStringSubmatch(strings.Join(got.Header.Values("Link"), ", ")); m != nil {
		u, err := url.Parse(m[1])
		if err != nil || u.Path != c.base+at.Path || c.limit(u.Query()) != limit || !full {
			t.Fatalf("%s: got %d with the link %s, want %d and the same limit", target, len(list), m[1], limit)
		}
		next = strings.TrimPrefix(u.RequestURI(), c.base)
	}
	return page, next
}

// limit returns the limit of a query, or the default.
func (c *collection) limit(query url.Values) int {
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		return c.defaultLimit
	}
	return limit
}

// isText reports whether a property is a text that a client chose, or a list of such.
func (c *collection) isText(name string) bool {
	p := c.adds.create.body.Properties[name]
	return p != nil && single(p.Value).Type.Is("string") && single(p.Value).Enum == nil && single(p.Value).Format == ""
}

// textSize returns the size of the texts in a resource that a client chose.
func (c *collection) textSize(r resource) (n int) {
	for name, v := range r {
		if c.isText(name) {
			n += len(strings.Join(textsOf(v), ""))
		}
	}
	return n
}

// lists tests of every list that walks with any limit return each resource once, those of
// its parent only, and that every filter selects what it should.
func (s *suite) lists(t *testing.T) {
	for _, c := range s.collections {
		t.Run(c.list.OperationID, func(t *testing.T) {
			if c.maxLimit == 0 || c.defaultLimit == 0 || c.adds == nil {
				t.Fatal("got no limit with a maximum and a default, or no operation that adds to the list")
			}
			c.adds.longTexts(t)
			under, other := c.adds.newParent(t, 4), c.adds.newParent(t, 5)
			want := c.ids(c.all(t, under))
			for i := range c.defaultLimit + 1 {
				want = append(want, c.idOf(c.adds.add(t, under, c.adds.example(i)).value))
				if i < 3 && c.parent != nil {
					c.adds.add(t, other, c.adds.example(i))
				}
			}
			path, all := c.path(under), c.all(t, under)
			if got := c.ids(all); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
				t.Errorf("%s: got %v, want %v", path, got, want)
			}
			for _, query := range []string{"", "?limit=1", "?limit=7", "?other=1&limit=7&x=y"} {
				if got := c.walk(t, path+query); !reflect.DeepEqual(got, all) {
					t.Errorf("%s%s: got %v, want %v", path, query, c.ids(got), c.ids(all))
				}
			}
			_, next := c.page(t, path+"?limit=1")
			u, _ := url.Parse(next)
			for name := range u.Query() {
				if c.list.parameter("query", name) == nil {
					t.Errorf("%s: got the link %s with %s, want only documented parameters", path, next, name)
				}
			}
			for _, filter := range c.list.parameters {
				if filter.In == openapi3.ParameterInQuery && !u.Query().Has(filter.Name) { // not the limit or the cursor
					t.Run(filter.Name, func(t *testing.T) { c.filter(t, filter) })
				}
			}
		})
	}
}

// ids returns the identifiers of resources.
func (c *collection) ids(all []resource) (ids []string) {
	for _, r := range all {
		ids = append(ids, c.idOf(r))
	}
	return ids
}

// filter tests that a filter selects by the property of its name, or else by another one.
func (c *collection) filter(t *testing.T, filter *openapi3.Parameter) {
	names := slices.Sorted(maps.Keys(c.schema.Value.Properties))
	if c.schema.Value.Properties[filter.Name] != nil {
		names = []string{filter.Name}
	}
	lists, found := c.everything(t), ""
	for _, name := range names {
		wrong, divides := "", false
		for path, all := range lists {
			for _, text := range filterTexts(filter, name, all) {
				var want []resource
				for _, r := range all {
					if slices.Contains(textsOf(r[name]), text) {
						want = append(want, r)
					}
				}
				target := path + "?limit=7&" + filter.Name + "=" + url.QueryEscape(text)
				if got := c.walk(t, target); !reflect.DeepEqual(got, want) {
					wrong = fmt.Sprintf("%s: got %v, want those whose %s is or has it, %v\n", target, c.ids(got), name, c.ids(want))
				}
				divides = divides || len(want) > 0 && len(want) < len(all)
			}
		}
		if divides && wrong == "" {
			return
		}
		found += wrong
	}
	t.Errorf("got no property by which it selects, with a value that some have and others do not:\n%s", found)
}

// filterTexts returns what to ask a filter: values that resources have, and each without
// its last character.
func filterTexts(filter *openapi3.Parameter, name string, all []resource) (texts []string) {
	for _, r := range all {
		for _, text := range textsOf(r[name]) {
			_, last := utf8.DecodeLastRuneInString(text)
			texts = append(texts, text, text[:len(text)-last])
		}
	}
	slices.Sort(texts)
	return slices.DeleteFunc(slices.Compact(texts), func(text string) bool {
		return text == "" || len(text) > 200 || !accepts(filter.Schema.Value, text)
	})
}

// longTexts tests where a page of long texts ends: page checks it.
func (c *collection) longTexts(t *testing.T) {
	for name, p := range c.create.body.Properties {
		if !c.isText(name) || p.Value.Type.Is("array") || p.Value.MaxLength != nil {
			continue
		}
		under := c.newParent(t, 6)
		before := len(c.all(t, under))
		sizes := []int{maxPageText - 1, 1, maxPageText - 1, 0, 1, maxPageText, 3, maxPageText - 2}
		for _, size := range sizes {
			body := c.example(7)
			body[name] = ""
			size = max(0, size-c.textSize(body))
			body[name] = strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
			c.add(t, under, body).isRead(t)
		}
		if got := len(c.all(t, under)); got != before+len(sizes) {
			t.Errorf("with a long %s: got %d resources, want %d", name, got, before+len(sizes))
		}
	}
}
