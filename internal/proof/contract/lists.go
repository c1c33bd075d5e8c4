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
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// maxPageText is the size of texts in bytes of UTF-8 with which a page ends.
const maxPageText = 32 << 10

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// walk follows the links from a page on, and returns all resources.
func (c *collection) walk(t T, target string) (all []resource) {
	path, query, _ := strings.Cut(target, "?")
	limit := c.list.parameter("query", "limit")
	if limit != nil && limit.Max != nil && !strings.Contains(query, "limit=") {
		target = fmt.Sprintf("%s?limit=%.0f&%s", path, *limit.Max, query)
	}
	seen := map[string]bool{}
	for target != "" {
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
	got := c.expect(t, c.get(strings.TrimPrefix(target, c.base)), want{status: http.StatusOK})
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
		if err != nil || u.Path != strings.Split(target, "?")[0] || c.limit(m[1]) != limit || !full {
			t.Errorf("%s: got %d with the link %s, want %d if another follows, and the same limit", target, len(list), m[1], limit)
			return page, ""
		}
		next = u.RequestURI()
	}
	return page, next
}

// limit returns the limit of a request for a page, or the default.
func (c *collection) limit(target string) int {
	_, query, _ := strings.Cut(target, "?")
	values, _ := url.ParseQuery(query)
	limit, err := strconv.Atoi(values.Get("limit"))
	if s := c.list.parameter("query", "limit"); err != nil && s != nil {
		n, _ := s.Default.(float64)
		return int(n)
	}
	return limit
}

// textSize returns the size of the texts in a resource that a client chose.
func (c *collection) textSize(r resource) (n int) {
	for name, p := range c.schema.Value.Properties {
		s := p.Value
		if s.Type.Is("array") {
			s = s.Items.Value
		}
		if c.create.body.Properties[name] != nil && s.Type.Is("string") && s.Enum == nil && s.Format == "" {
			n += len(strings.Join(texts(r[name]), ""))
		}
	}
	return n
}

// lists tests of every list that walks with any limit return each resource once, those of
// its parent only, and that every filter selects what it should.
func (s *suite) lists(t T) {
	for _, c := range s.collections {
		t.Run(c.list.OperationID, func(t T) {
			limit, source := c.list.parameter("query", "limit"), c
			for _, other := range s.collections {
				if source.create.method == "" && other.schema.Ref == c.schema.Ref {
					source = other
				}
			}
			if limit == nil || limit.Max == nil || limit.Default == nil || source.create.method == "" {
				t.Errorf("got the limit %+v, want a maximum, a default, and an operation that adds to the list", limit)
				return
			}
			under, other := source.newParent(t, 4), source.newParent(t, 5)
			path := c.base + c.path(under)
			before := c.walk(t, path)
			for i := range int(limit.Default.(float64)) + 1 {
				before = append(before, source.add(t, under, source.example(i)).value)
				if i < 3 && c.parent != nil {
					source.add(t, other, source.example(i))
				}
			}
			all := c.walk(t, path)
			wantSame(t, path, c.ids(all, nil, ""), c.ids(before, nil, ""), false)
			for _, query := range []string{"", "?limit=1", "?limit=7", "?other=1&limit=7&x=y"} {
				wantSame(t, path+query, c.ids(c.follow(t, path+query), nil, ""), c.ids(all, nil, ""), true)
			}
			cursor := c.cursor(t, path)
			for _, filter := range c.list.parameters {
				if filter.In == "query" && filter.Name != "limit" && filter.Name != cursor {
					t.Run(filter.Name, func(t T) { c.filter(t, path, filter, all) })
				}
			}
			source.longTexts(t)
		})
	}
}

// follow is walk from a page as it is.
func (c *collection) follow(t T, target string) []resource {
	page, next := c.page(t, target)
	if next != "" {
		page = append(page, c.walk(t, next)...)
	}
	return page
}

// cursor returns the parameter by which links lead to the next page.
func (c *collection) cursor(t T, path string) string {
	_, next := c.page(t, path+"?limit=1")
	_, query, _ := strings.Cut(next, "?")
	values, _ := url.ParseQuery(query)
	delete(values, "limit")
	if len(values) != 1 || c.list.parameter("query", slices.Collect(maps.Keys(values))[0]) == nil {
		t.Errorf("%s?limit=1: got the link %s, want one with the limit and a documented parameter", path, next)
		return ""
	}
	return slices.Collect(maps.Keys(values))[0]
}

// ids returns the identifiers of the resources of which a property has, or contains, a
// value. Without a property these are all.
func (c *collection) ids(all []resource, property *string, value string) (ids []string) {
	for _, r := range all {
		if property == nil || slices.Contains(texts(r[*property]), value) {
			ids = append(ids, fmt.Sprint(r[c.id]))
		}
	}
	return ids
}

// wantSame compares identifiers, and their order if that is given.
func wantSame(t T, what string, got, want []string, ordered bool) {
	if !ordered {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
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
		var values []string
		for _, r := range all {
			for _, text := range texts(r[name]) {
				if accepts(filter, text) && !slices.Contains(values, text) && len(values) < 12 {
					_, last := utf8.DecodeLastRuneInString(text)
					values = append(values, text, text[:len(text)-last])
				}
			}
		}
		divides, wrong := false, ""
		for _, v := range values {
			if !accepts(filter, v) {
				continue
			}
			target := path + "?limit=2&" + filter.Name + "=" + url.QueryEscape(v)
			got, want := c.ids(c.follow(t, target), nil, ""), c.ids(all, &name, v)
			if !slices.Equal(got, want) {
				wrong += fmt.Sprintf("%s: got %d resources, want the %d whose %s is or has it\n", target, len(got), len(want), name)
			}
			divides = divides || len(want) > 0 && len(want) < len(all)
		}
		if divides && wrong == "" {
			return
		}
		found += wrong
	}
	t.Errorf("got no property by which it selects, with a value that some have and others do not:\n%s", found)
}

// accepts reports whether a parameter takes a text.
func accepts(p *openapi3.Parameter, text string) bool {
	s := p.Schema.Value
	if s.Type.Is("array") {
		s = s.Items.Value
	}
	if s.Type.Is("string") {
		return text != "" && s.VisitJSON(text) == nil
	}
	v := property.Decode(text)
	return v != nil && s.VisitJSON(v) == nil
}

// longTexts tests where a page of long texts ends: walk checks it.
func (c *collection) longTexts(t T) {
	for name, p := range c.create.body.Properties {
		if s := p.Value; !s.Type.Is("string") || s.Enum != nil || s.Format != "" || s.MaxLength != nil {
			continue
		}
		under := c.newParent(t, 6)
		before := len(c.walk(t, c.base+c.path(under)))
		var last *stored
		sizes := []int{maxPageText - 1, 1, maxPageText - 1, 0, 1, maxPageText, 3, maxPageText - 2}
		for _, size := range sizes {
			body := c.example(7)
			body[name] = ""
			size = max(0, size-c.textSize(body))
			body[name] = strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
			last = c.add(t, under, body)
		}
		last.isRead(t, true) // also with filters
		if got := len(c.walk(t, c.base+c.path(under))); got != before+len(sizes) {
			t.Errorf("with a long %s: got %d resources, want %d", name, got, before+len(sizes))
		}
	}
}
