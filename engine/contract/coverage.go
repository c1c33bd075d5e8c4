package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// history is what requests have sent and responses have shown.
type history struct {
	seen     map[string]bool     // what coverage wants
	first    map[string]string   // the first value that each name had; see differs
	queries  map[string][]string // what each parameter of a list has been, as status=sold
	longest  map[string]Response // of each operation that reads
	accepted map[string]string   // the last body of each operation that was tested with an Idempotency-Key
	ends     map[string]string   // the last page of each list

	last    map[string]any // what a GET of each path has returned since the last write
	writes  int            // the number of writes that succeeded
	written Response       // the response to the last of them
	want    any            // what a read should show of that; see stored
}

// differs reports whether a name had another value at first.
func (h history) differs(name, value string) bool {
	if _, known := h.first[name]; !known {
		h.first[name] = value
	}
	return h.first[name] != value
}

// record records a request to an operation, and its response.
func (s *Suite) record(t *testing.T, got Response) {
	t.Helper()
	id, success, isGet := got.route.Operation.OperationID, got.StatusCode < 300, got.route.Method == http.MethodGet
	given := parameterValues(got)
	if success {
		s.recordSent(got, given)
	}
	s.recordShown(t, got)
	if isGet && success && len(got.Body) > len(s.longest[id].Body) {
		s.longest[id] = got
	}
	if got.Request.Method == http.MethodHead {
		return
	}
	if isGet && (success || got.StatusCode == http.StatusNotFound) {
		s.recordEffects(got, given)
	}
	if success {
		s.checkShown(t, got)
	}
}

// parameterValues returns what a request has for each parameter.
func parameterValues(got Response) map[string][]string {
	given, query := map[string][]string{}, got.Request.URL.Query()
	for _, p := range parameters(got.route) {
		texts := map[string][]string{
			openapi3.ParameterInPath: {got.ids[p.Name]}, openapi3.ParameterInQuery: query[p.Name],
			openapi3.ParameterInHeader: got.Request.Header.Values(p.Name),
		}
		given[placeOf(p)] = texts[p.In]
	}
	return given
}

// placeOf returns the name of a parameter that is a place in a request, as .name is one in its body.
func placeOf(p *openapi3.Parameter) string { return " " + p.In + " " + p.Name }

// recordShown records what a response has.
func (s *Suite) recordShown(t *testing.T, got Response) {
	t.Helper()
	status, documented := fmt.Sprint(got.route.Operation.OperationID, " ", got.StatusCode), schemasOf(got.content())
	s.seen[status+" response"] = true
	for name := range got.Header {
		s.seen[status+" "+name] = true
	}
	each("", got.value, func(place string, v any) {
		s.seen[status+place] = true
		o, _ := v.(object)
		s.seen[status+place+" entry"] = s.seen[status+place+" entry"] || len(o) > 0
		for _, part := range documented[place] {
			s.seen[fmt.Sprintf("%p value %v", part, v)] = true
			for name, p := range part.Properties {
				s.seen[fmt.Sprintf("%p shown", p)] = s.seen[fmt.Sprintf("%p shown", p)] || o[name] != nil
			}
			at := instant(v).UTC()
			zero := at.IsZero() || at.Unix() == 0 && !s.seen["sent "+at.String()]
			ok := part.Format != "date-time" || v == nil || !zero
			got.promise(t, "time", ok, "%s: got %v, want a time that is not zero", place, v)
		}
	})
}

// recordSent records what a request that succeeded has sent.
func (s *Suite) recordSent(got Response, given map[string][]string) {
	id, documented := got.route.Operation.OperationID, schemasOf(requestContent(got.route))
	if got.sent.Body == "" {
		s.seen[id+" without a body"] = true
	} else {
		each("", bodyValue(got.Request.Header, got.sent.Body), func(place string, v any) {
			if documented[place] != nil {
				s.recordValue(id, place, v)
			}
		})
	}
	for _, p := range parameters(got.route) {
		place, texts := placeOf(p), given[placeOf(p)]
		s.seen[place+Encode(texts)] = true
		if len(texts) == 0 {
			continue
		}
		if query := (url.Values{p.Name: texts}).Encode(); !slices.Contains(s.queries[id+place], query) {
			s.queries[id+place] = append(s.queries[id+place], query)
		}
		value := any(texts[0])
		if p.Schema.Value.Type.Is("array") {
			value = Decode(Encode(texts))
		}
		each(place, value, func(place string, v any) { s.recordValue(id, place, v) })
	}
}

// recordValue records a value that was accepted.
func (s *Suite) recordValue(id, place string, v any) {
	see := func(what ...any) { s.seen[id+place+fmt.Sprint(what...)] = true }
	see(" valid value")
	if s.differs(place, Encode(v)) { // whatever operation had the first
		see(" other value")
	}
	switch v := v.(type) {
	case nil:
		see(" null")
	case []any:
		see(" items ", len(v))
	case object:
		see(" properties ", len(v))
		if len(v) > 0 {
			see(" entry")
		}
		if slices.Contains(slices.Collect(maps.Values(v)), nil) {
			see(" null in it")
		}
	case json.Number:
		see(" value ", v)
	case string:
		see(" value ", v)
		see(" length ", utf8.RuneCountInString(v))
		if strings.Contains(v, Long) {
			see(" Long text")
		}
		if at := instant(v); !at.IsZero() {
			s.seen["sent "+at.UTC().String()] = true
			if !strings.HasSuffix(v, "Z") && strings.Contains(v, ".") {
				see(" time with an offset and a fraction")
			}
		}
	}
}

// recordEffects records which parameters of a GET change the response to a request that is the same
// otherwise. That an identifier is unknown everywhere is no effect.
func (s *Suite) recordEffects(got Response, given map[string][]string) {
	body := got.Body
	if got.StatusCode == http.StatusNotFound {
		body = "none"
	}
	for place, texts := range given {
		value, others := Encode(texts), maps.Clone(given)
		delete(others, place)
		request := fmt.Sprint(s.writes, got.route.Path, place, others)
		if got.StatusCode == http.StatusNotFound && !s.seen[place+value] {
			continue
		}
		if isOther, changed := s.differs("value"+request, value), s.differs("body"+request, body); isOther && changed {
			s.seen[got.route.Operation.OperationID+place+" effect"] = true
		}
	}
}

// coverage tests that the cases have seen every response, header and property that a client can cause, and sent
// each parameter and property with different values, up to its limits. TestSocket causes the 408.
func (s *Suite) coverage(t *testing.T) {
	want := func(name, what string) {
		t.Helper()
		s.Assert(t, s.seen[name+what] || s.exempt(name+what), "%s: got no%s, want a case with it", name, what)
	}
	once := func(key, name string) {
		t.Helper()
		s.Assert(t, s.seen[key] || s.exempt(name), "%s: got no such value, want a case with it", name)
		s.seen[key] = true // named once, although other operations have it
	}
	table := "only cases test: filters together, writes at once without an Idempotency-Key, keys of refused requests,\n" +
		"what a body leaves out, bodies other than JSON, what a write changes elsewhere; tested of each operation:"
	for _, route := range s.operations {
		o, success := route.Operation, false
		_, s.seen[o.OperationID+" examples"] = request(route, "")
		table += "\n" + o.OperationID + ":"
		for _, what := range due(route) {
			want(o.OperationID, what)
			name, isFilter := strings.CutSuffix(o.OperationID+what, " effect")
			table += what
			if reason := s.Unpromised[o.OperationID+what]; reason != "" {
				table += " (not tested: " + reason + ")"
			} else if isFilter && !s.seen[name+" values"] {
				table += " (which elements and in what order, only cases test)"
			}
			table += ";"
		}
		for status, r := range o.Responses.Map() {
			name := o.OperationID + " " + status
			if status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "") {
				want(name, " response")
			}
			for header := range r.Value.Headers {
				if status < "300" && !(o.Deprecated && header == "Link") { // to the page, which may have been removed
					want(name, " "+http.CanonicalHeaderKey(header))
				}
			}
			for place, combined := range schemasOf(r.Value.Content) {
				if !s.seen[name+" response"] {
					break
				}
				if strings.HasSuffix(place, "[]") {
					want(name, place)
				}
				for _, part := range combined {
					for _, v := range part.Enum {
						once(fmt.Sprintf("%p value %v", part, v), fmt.Sprint(o.OperationID, " ", place, " ", v))
					}
					if part.AdditionalProperties.Schema != nil {
						want(name+place, " entry")
					}
					for property, p := range part.Properties {
						if !p.Value.WriteOnly {
							once(fmt.Sprintf("%p shown", p), name+place+"."+property)
						}
					}
				}
			}
			success = success || status < "300" && s.seen[name+" response"]
		}
		if !success {
			continue // with more to want
		}
		if o.RequestBody != nil && !o.RequestBody.Value.Required {
			want(o.OperationID, " without a body")
		}
		given := schemasOf(requestContent(route))
		for _, p := range parameters(route) {
			if p.In != openapi3.ParameterInPath {
				given.add(placeOf(p), p.Schema.Value)
			}
			if route.Method == http.MethodGet {
				want(o.OperationID+placeOf(p), " effect")
			}
		}
		s.sameLimits(t, route, given)
		for place, combined := range given {
			name, part := o.OperationID+place, combined[0]
			want(name, " valid value")
			for _, part := range combined {
				last, _ := limits(part)
				for _, v := range part.Enum {
					last = append(last, fmt.Sprint(" value ", v))
				}
				for _, limit := range last {
					want(name, limit)
				}
			}
			isParameter, isItem := strings.HasPrefix(place, " "), strings.HasSuffix(place, "[]")
			if isParameter || isItem { // the list of an item has another value
				continue
			}
			if len(part.Enum) != 1 {
				want(name, " other value")
			}
			if part.Type.Is("string") && part.Format == "" && isValid(part, Encode(Long)) {
				want(name, " Long text")
			}
		}
	}
	for name := range s.Unpromised {
		s.Assert(t, s.seen[name+" exempt"], "%s: want no reason in Unpromised, since it is so", name)
	}
	fmt.Println(table) // not to t.Log, which needs -v
}

// sameLimits tests that an operation that changes something has the limits of the one that creates it.
func (s *Suite) sameLimits(t *testing.T, r *routers.Route, given schemas) {
	for _, creates := range s.operations {
		if creates.Method != http.MethodPost || creates.Path != path.Dir(r.Path) {
			continue
		}
		for place, parts := range schemasOf(requestContent(creates)) {
			if place == "" || given[place] == nil {
				continue
			}
			got, _ := limits(given[place][0])
			missing, _ := limits(parts[0])
			missing = slices.DeleteFunc(missing, func(limit string) bool { return slices.Contains(got, limit) })
			s.Assert(t, len(missing) == 0, "%s%s: got no limits%s, want those of %s",
				r.Operation.OperationID, place, missing, creates.Operation.OperationID)
		}
	}
}
