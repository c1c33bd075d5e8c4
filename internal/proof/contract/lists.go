package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// maxPageText is the size of texts in bytes of UTF-8 with which a page ends.
const maxPageText = 32 << 10

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// all returns the resources of a list that a query such as "&status=sold" selects.
func (c *collection) all(t T, under *stored, query string) []resource {
	return c.walk(t, fmt.Sprintf("%s?limit=%d%s", c.path(under), c.maxLimit, query))
}

// walk follows the links from a page on, and returns all resources.
func (c *collection) walk(t T, target string) (all []resource) {
	for seen := map[string]bool{}; target != ""; {
		if seen[target] {
			t.Errorf("%s: got a link to it from a later page", target)
			return all
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
func (c *collection) page(t T, target string) (page []resource, next string) {
	got := c.expect(t, c.to(c.list, target), want{status: http.StatusOK})
	list, _ := property.Decode(string(got.body)).([]any)
	limit, full, text := c.limit(target), false, 0
	for i, v := range list {
		if full {
			t.Errorf("%s: got a page of %d, want it to end with the %dth", target, len(list), i)
			return page, ""
		}
		r, _ := v.(resource)
		page = append(page, r)
		text += c.textSize(r)
		full = len(page) == limit || text >= maxPageText
	}
	if m := nextLink.FindStringSubmatch(strings.Join(got.Header.Values("Link"), ", ")); m != nil {
		u, err := url.Parse(m[1])
		if err != nil || u.Path != c.base+strings.Split(target, "?")[0] || c.limit(m[1]) != limit || !full {
			t.Errorf("%s: got %d with the link %s, want %d and the same limit", target, len(list), m[1], limit)
			return page, ""
		}
		next = strings.TrimPrefix(u.RequestURI(), c.base)
	}
	return page, next
}

// queryOf returns the query of an address.
func queryOf(target string) url.Values {
	_, query, _ := strings.Cut(target, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// limit returns the limit of a request for a page, or the default.
func (c *collection) limit(target string) int {
	limit, err := strconv.Atoi(queryOf(target).Get("limit"))
	if err != nil {
		return c.defaultLimit
	}
	return limit
}

// textSize returns the size of the texts in a resource that a client chose.
func (c *collection) textSize(r resource) (n int) {
	for name, p := range c.schema.Value.Properties {
		s := property.Item(p.Value)
		if c.create.body.Properties[name] != nil && s.Type.Is("string") && s.Enum == nil && s.Format == "" {
			n += len(strings.Join(property.Texts(r[name]), ""))
		}
	}
	return n
}

// lists tests of every list that walks with any limit return each resource once, those of
// its parent only, and that every filter selects what it should.
func (s *suite) lists(t *testing.T) {
	for _, c := range s.collections {
		t.Run(c.list.OperationID, func(t *testing.T) {
			source := c
			for _, other := range s.collections {
				if source.create.method == "" && other.schema.Ref == c.schema.Ref {
					source = other
				}
			}
			if c.maxLimit == 0 || c.defaultLimit == 0 || source.create.method == "" {
				t.Fatal("got no limit with a maximum and a default, or no operation that adds to the list")
			}
			under, other := source.newParent(t, 4), source.newParent(t, 5)
			added := c.all(t, under, "")
			for i := range c.defaultLimit + 1 {
				added = append(added, source.add(t, under, source.example(i)).value)
				if i < 3 && c.parent != nil {
					source.add(t, other, source.example(i))
				}
			}
			path, all := c.path(under), c.all(t, under, "")
			wantSame(t, path, slices.Sorted(slices.Values(c.ids(all))), slices.Sorted(slices.Values(c.ids(added))))
			for _, query := range []string{"", "?limit=1", "?limit=7", "?other=1&limit=7&x=y"} {
				wantSame(t, path+query, c.ids(c.walk(t, path+query)), c.ids(all))
			}
			_, next := c.page(t, path+"?limit=1")
			others := queryOf(next)
			others.Del("limit")
			cursor, _, _ := strings.Cut(others.Encode(), "=")
			if len(others) != 1 || c.list.parameter("query", cursor) == nil {
				t.Errorf("%s: got the link %s, want one with the limit and a documented parameter", path, next)
			}
			for _, filter := range c.list.parameters {
				if filter.In == openapi3.ParameterInQuery && filter.Name != "limit" && filter.Name != cursor {
					t.Run(filter.Name, func(t *testing.T) { c.filter(t, path, filter, all) })
				}
			}
			source.longTexts(t)
		})
	}
}

// ids returns the identifiers of resources.
func (c *collection) ids(all []resource) (ids []string) {
	for _, r := range all {
		ids = append(ids, fmt.Sprint(r[c.id]))
	}
	return ids
}

func wantSame(t T, what string, got, want []string) {
	if !slices.Equal(got, want) {
		t.Errorf("%s: walk: got %d resources %.2000v, want %d %.2000v", what, len(got), got, len(want), want)
	}
}

// filter asks for values that some of all have, and for each without its last character. A
// filter selects by the property of its name, or else by another one.
func (c *collection) filter(t T, path string, filter *openapi3.Parameter, all []resource) {
	candidates := slices.Sorted(maps.Keys(c.schema.Value.Properties))
	if c.schema.Value.Properties[filter.Name] != nil {
		candidates = []string{filter.Name}
	}
	found := ""
	for _, name := range candidates {
		wrong, divides, asked := "", false, map[string]bool{}
		ask := func(text string) {
			if asked[text] || !property.Accepts(filter.Schema.Value, text) || len(asked) > 12 {
				return
			}
			asked[text] = true
			has := func(r resource) bool { return slices.Contains(property.Texts(r[name]), text) }
			want := slices.DeleteFunc(slices.Clone(all), func(r resource) bool { return !has(r) })
			target := path + "?limit=2&" + filter.Name + "=" + url.QueryEscape(text)
			if got := c.walk(t, target); !slices.Equal(c.ids(got), c.ids(want)) {
				wrong += fmt.Sprintf("%s: got %d resources, want the %d whose %s is or has it\n", target, len(got), len(want), name)
			}
			divides = divides || len(want) > 0 && len(want) < len(all)
		}
		for _, r := range all {
			for _, text := range property.Texts(r[name]) {
				_, last := utf8.DecodeLastRuneInString(text)
				ask(text)
				ask(text[:len(text)-last])
			}
		}
		if divides && wrong == "" {
			return
		}
		found += wrong
	}
	t.Errorf("got no property by which it selects, with a value that some have and others do not:\n%s", found)
}

// longTexts tests where a page of long texts ends: page checks it.
func (c *collection) longTexts(t T) {
	for name, p := range c.create.body.Properties {
		if s := p.Value; !s.Type.Is("string") || s.Enum != nil || s.Format != "" || s.MaxLength != nil {
			continue
		}
		under := c.newParent(t, 6)
		before := len(c.all(t, under, ""))
		var last *stored
		sizes := []int{maxPageText - 1, 1, maxPageText - 1, 0, 1, maxPageText, 3, maxPageText - 2}
		for _, size := range sizes {
			body := c.example(7)
			body[name] = ""
			size = max(0, size-c.textSize(body))
			body[name] = strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
			last = c.add(t, under, body)
		}
		last.isRead(t) // also with filters
		if got := len(c.all(t, under, "")); got != before+len(sizes) {
			t.Errorf("with a long %s: got %d resources, want %d", name, got, before+len(sizes))
		}
	}
}
