package contract

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// page returns a page of a list and the target of the next, or "". The link to the next page
// has what the request has, and begins after the last of the page.
func (s *Suite) Page(t *testing.T, target string) (page []any, next string) {
	t.Helper()
	got := s.Expect(t, Case{Send: "GET " + target + "\n" + bearer(s.Key), Want: "200"})
	page, _ = Decode(got.Body).([]any)
	m := nextLink.FindStringSubmatch(strings.Join(got.Header.Values("Link"), ", "))
	if m == nil {
		return page, ""
	}
	asked, err := url.Parse(target)
	link, linkErr := url.Parse(m[1])
	if err != nil || linkErr != nil || len(page) == 0 {
		s.fatal(t, "%s: got the link %s after %d, want one that follows something", target, m[1], len(page))
	}
	query, want := link.Query(), asked.Query()
	want.Del("other") // unknown parameters are ignored
	want.Set("limit", cmp.Or(want.Get("limit"), query.Get("limit")))
	want.Set("after", identifier(page[len(page)-1]))
	same := link.Path == asked.Path && reflect.DeepEqual(query, want)
	s.Assert(t, same, "%s: got the link %s, want %s", target, m[1], want.Encode())
	return page, link.RequestURI()
}

// Walk returns what all pages of a list have, none of which may have more than limit. No identifier comes
// twice, and none after the last.
func (s *Suite) Walk(t *testing.T, target string, limit int) (all []any) {
	t.Helper()
	seen, last := map[string]bool{}, ""
	for at := target + fmt.Sprint("limit=", limit); at != ""; {
		page, next := s.Page(t, at)
		if len(page) > limit {
			s.fatal(t, "%s: got a page of %d, want at most %d", at, len(page), limit)
		}
		for _, v := range page {
			last = identifier(v)
			if seen[last] {
				s.fatal(t, "%s: got %s again, want each once", at, last)
			}
			seen[last] = last != ""
		}
		all, at = append(all, page...), next
	}
	if r, _ := s.route(Case{Send: "GET " + target}); last != "" && takes(r, "after") {
		page, next := s.Page(t, target+"after="+url.QueryEscape(last))
		s.Assert(t, len(page) == 0 && next == "", "%safter=%s: got a page of %d, want none after the last", target, last, len(page))
	}
	return all
}

// identifier returns the identifier of an element of a list, or "".
func identifier(v any) string {
	o, _ := v.(object)
	if o["id"] == nil {
		return ""
	}
	return fmt.Sprint(o["id"])
}

// lists tests of every list with a limit that walks with any limit return the same, also with each
// value of another parameter that a case has sent, and that filters by a property select what has
// the value, if only certain values are valid. A parameter that is left out has its default.
func (s *Suite) lists(t *testing.T) {
	for _, r := range s.operations {
		longest, given := s.longest[r.Operation.OperationID], parameters(r)
		i := slices.IndexFunc(given, func(p *openapi3.Parameter) bool { return p.Name == "limit" })
		_, schema := jsonBody(longest.content())
		if i < 0 || !schema.Type.Is("array") {
			continue
		}
		list, limit := longest.path+"?", given[i].Schema.Value
		same := func(what string, got, want []any) {
			t.Helper()
			equal := len(got)+len(want) == 0 || reflect.DeepEqual(got, want)
			s.Assert(t, equal, "%s%s: got %d, want %d: %s", list, what, len(got), len(want), difference(Encode(got), Encode(want)))
		}
		all := s.Walk(t, list, int(*limit.Max))
		for _, n := range []int{1, 7} {
			same(fmt.Sprint("limit=", n), s.Walk(t, list+"other=1&", n), all)
		}
		fits := schema.MaxItems == nil || *limit.Max <= float64(*schema.MaxItems)
		s.Assert(t, fits, "%slimit: got the maximum %v, want at most maxItems", list, *limit.Max)
		if usual, isNumber := limit.Default.(float64); isNumber && r.PathItem.Post != nil {
			s.Assert(t, len(all) > int(usual), "%s: got %d, want cases that create more than %v, the usual limit", list, len(all), usual)
		}
		page, next := s.Page(t, list)
		wantPage, wantNext := s.Page(t, fmt.Sprint(list, "limit=", limit.Default))
		same("", append(page, next), append(wantPage, wantNext))
		for _, p := range given {
			if p.In != openapi3.ParameterInQuery || p.Name == "limit" || p.Name == "after" {
				continue
			}
			query := func(value any) string { return url.Values{p.Name: {fmt.Sprint(value)}}.Encode() }
			filters := s.queries[r.Operation.OperationID+placeOf(p)]
			for _, value := range p.Schema.Value.Enum {
				filters = append(filters, query(value))
			}
			for _, filter := range filters {
				got := s.Walk(t, list+filter+"&", 1)
				same(filter, got, s.Walk(t, list+filter+"&", int(*limit.Max)))
				if p.Schema.Value.Default != nil && filter == query(p.Schema.Value.Default) {
					same(filter, got, all)
				}
				if p.Schema.Value.Enum != nil && schema.Items.Value.Properties[p.Name] != nil {
					others := func(v any) bool { return query(v.(object)[p.Name]) != filter }
					same(filter, got, slices.DeleteFunc(slices.Clone(all), others))
				}
			}
		}
	}
}
