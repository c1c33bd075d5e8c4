package contract

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// list says how an operation returns pages.
type list struct {
	documented schemas // of a page
	place      string  // of the elements, such as "[]" or ".items[]"
	limit      *openapi3.Schema
	cursor     string // the parameter that the next page has, or ""
	next       string // the property with its value; "" if it is in the header Link
}

// outerArray matches the place of the elements of an array that is a body, or a property of one.
var outerArray = regexp.MustCompile(`^(\.[^.\[]+)?\[\]$`)

// listOf returns how an operation returns pages, and whether the suite can walk them; see the package comment.
func listOf(r *routers.Route) (l list, isList bool) {
	if r == nil || r.Method != http.MethodGet {
		return l, false
	}
	limit, success := parameter(r, "limit"), r.Operation.Responses.Status(http.StatusOK)
	if limit == nil || limit.Schema.Value.Max == nil || success == nil {
		return l, false
	}
	l.limit, l.documented = limit.Schema.Value, schemasOf(success.Value.Content)
	arrays := 0
	for place := range l.documented {
		if outerArray.MatchString(place) && !l.documented.isScalar(place) {
			l.place, arrays = place, arrays+1
		}
	}
	for _, p := range parameters(r) {
		property, _ := p.Extensions["x-cursor"].(string)
		if p.Name == "cursor" {
			property = cmp.Or(property, "next")
		}
		if l.documented["."+property] != nil {
			l.cursor, l.next = p.Name, property
		} else if p.Name == "after" || p.Name == "cursor" {
			l.cursor = p.Name
		}
	}
	return l, arrays == 1
}

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// Page returns a page of a list and the target of the next, or "".
func (s *Suite) Page(t *testing.T, target string) (page []any, next string) {
	got := s.Expect(t, Case{Send: "GET " + target + "\n" + bearer(s.Key), Want: "200"})
	asked, err := url.Parse(target)
	if err != nil || got.route == nil {
		s.fatal(t, "%s: got no list, want one", target)
	}
	l, _ := listOf(got.route)
	envelope, isEnvelope := got.value.(object)
	if isEnvelope {
		got.value = envelope[strings.Trim(l.place, ".[]")]
	}
	page, _ = got.value.([]any)
	if cursor := envelope[l.next]; l.next != "" && cursor != nil && cursor != "" {
		query := asked.Query()
		query.Set(l.cursor, fmt.Sprint(cursor))
		next = asked.Path + "?" + query.Encode()
	} else if m := nextLink.FindStringSubmatch(strings.Join(got.Header.Values("Link"), ", ")); m != nil {
		if link, err := asked.Parse(m[1]); err == nil { // or else check reports it
			next = link.RequestURI()
		}
	}
	return page, next
}

// Walk returns what all pages of a list have, each with at most limit elements, and no identifier twice.
func (s *Suite) Walk(t *testing.T, target string, limit int) (all []any) {
	all, _ = s.walk(t, target+fmt.Sprint("limit=", limit), limit)
	return all
}

// walk returns what a list has from a page on, and the target of its last page.
func (s *Suite) walk(t *testing.T, next string, limit int) (all []any, at string) {
	all = []any{}
	for seen := map[string]bool{}; next != ""; {
		var page []any
		at = next
		page, next = s.Page(t, at)
		if len(page) > limit || len(page) == 0 && (len(all) > 0 || next != "") || at == next {
			s.fatal(t, "%s: got a page of %d and the link %q, want 1 to %d and another link", at, len(page), next, limit)
		}
		for _, v := range page {
			id := identifier(v)
			if seen[id] {
				s.fatal(t, "%s: got %s again, want each once", at, id)
			}
			seen[id] = id != ""
		}
		r, _ := s.route(Case{Send: "GET " + at})
		isFull := next == "" || len(page) == limit || s.exempt(r.Operation.OperationID+" page")
		s.Assert(t, isFull, "%s: got a page of %d and a link, want %d", at, len(page), limit)
		all = append(all, page...)
	}
	return all, at
}

// rows returns what a list has from a page on, or from its first, and its last page, which is "" if it is no list.
func (s *Suite) rows(t *testing.T, path, next string) (all []any, last string) {
	r, _ := s.route(Case{Send: "GET " + path})
	l, isList := listOf(r)
	if !isList {
		return nil, ""
	}
	most := int(*l.limit.Max)
	return s.walk(t, cmp.Or(next, fmt.Sprint(path, "?limit=", most)), most)
}

// identifier returns the identifier of an element of a list, or "".
func identifier(v any) string {
	o, _ := v.(object)
	if o["id"] == nil {
		return ""
	}
	return fmt.Sprint(o["id"])
}

// lists tests every list, with examples of the parameters that it requires: that walks with any limit return
// the same, and what the parameters change. One that is left out has its default.
func (s *Suite) lists(t *testing.T) {
	for _, r := range s.operations {
		l, isList := listOf(r)
		if !isList {
			continue
		}
		_, path, query := Case{Send: request(r, "")}.target()
		most, name, target := int(*l.limit.Max), r.Operation.OperationID+" walk", path+"?"+query+"&"
		all := s.Walk(t, target, most)
		for _, n := range []int{1, 7} {
			s.same(t, name, fmt.Sprint(target, "limit=", n), s.Walk(t, target+"other=1&", n), all)
		}
		if usual, isNumber := l.limit.Default.(float64); isNumber {
			isMore := r.PathItem.Post == nil || len(all) > int(usual)
			s.Assert(t, isMore, "%s: got %d, want cases that create more than %v, the usual limit", target, len(all), usual)
			page, _ := s.Page(t, target)
			wantPage, _ := s.Page(t, fmt.Sprint(target, "limit=", usual))
			s.same(t, name, target, page, wantPage)
		}
		s.seen[name] = true
		for _, p := range parameters(r) {
			if p.In == openapi3.ParameterInQuery && p.Name != "limit" && p.Name != l.cursor {
				s.filter(t, r.Operation.OperationID+placeOf(p), l, p, target, all)
			}
		}
	}
}

// same checks that two walks return the same.
func (s *Suite) same(t *testing.T, name, target string, got, want []any) {
	s.Assert(t, reflect.DeepEqual(got, want) || s.exempt(name), "%s: %s: got %d, want %d: %s", name, target, len(got), len(want),
		difference(Encode(got), Encode(want)))
}

// filter tests a parameter with each value that it may have, or that a case has sent. It selects those with the
// value if it has the name of a property, and sorts by the value if that is a property.
func (s *Suite) filter(t *testing.T, name string, l list, p *openapi3.Parameter, target string, all []any) {
	queries, pages, found := slices.Clone(s.queries[name]), map[string][]any{}, false
	isProperty := l.documented.isScalar(l.place + "." + p.Name)
	s.seen[name+" effect of unknown elements"] = !isProperty
	slices.Sort(queries)
	for _, query := range slices.Compact(queries) {
		got := s.Walk(t, target+query+"&", 1)
		s.same(t, name, target+query, got, s.Walk(t, target+query+"&", int(*l.limit.Max)))
		given, _ := url.ParseQuery(query)
		values := given[p.Name]
		if fmt.Sprint(p.Schema.Value.Default) == values[0] {
			s.same(t, name, target+query, got, all)
		}
		if isProperty {
			isOther := func(v any) bool { return !slices.Contains(values, fmt.Sprint(v.(object)[p.Name])) }
			s.same(t, name, target+query, got, slices.DeleteFunc(slices.Clone(all), isOther))
		}
		pages[values[0]] = got
		found = found || len(got) > 0
	}
	s.Assert(t, found || s.exempt(name), "%s: got none with any value, want a case with some", name)
	for value, got := range pages {
		property, isReverse := strings.CutPrefix(value, "-")
		ok := !isReverse || len(got) < 2 || !reflect.DeepEqual(got, pages[property])
		ok = ok && (!l.documented.isScalar(l.place+"."+property) || isGrouped(got, property))
		s.Assert(t, ok || s.exempt(name), "%s: %s%s: got %d that are not sorted by it", name, target, value, len(got))
	}
}

// isGrouped reports whether elements with the same value of a property follow each other, in the order of
// their identifiers.
func isGrouped(all []any, property string) bool {
	last, before := map[string]string{}, ""
	for _, v := range all {
		value, id := fmt.Sprint(v.(object)[property]), identifier(v)
		ascends := len(id) > len(last[value]) || len(id) == len(last[value]) && id > last[value]
		if last[value] != "" && (value != before || !ascends) {
			return false
		}
		last[value], before = id, value
	}
	return true
}
