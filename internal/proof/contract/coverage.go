package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/internal/service"
)

// history is what requests have sent and responses have shown.
type history struct {
	seen    map[string]bool              // what coverage wants
	first   map[string]string            // the first value that each name had; see differs
	queries map[string][]string          // what each parameter of a list has been, as status=sold
	longest map[string]response          // of each operation that reads
	shown   map[*openapi3.SchemaRef]bool // the properties of responses that have had a value

	writes  int      // how many requests have changed something
	written fields   // what the last of them has sent
	media   string   // the media type of that
	paths   []string // where it can be read
}

// differs reports whether a name had another value at first.
func (h history) differs(name, value string) bool {
	if _, known := h.first[name]; !known {
		h.first[name] = value
	}
	return h.first[name] != value
}

// record records a request to an operation, and its response.
func (s *suite) record(t *testing.T, got response, route *routers.Route) {
	t.Helper()
	id := route.Operation.OperationID
	status := fmt.Sprint(id, " ", got.StatusCode)
	s.seen[status+" response"] = true
	for name := range got.Header {
		s.seen[status+" "+name] = true
	}
	shown, given, answered := fields{}, map[string]string{}, schemasOf(responseContent(got, route))
	success := got.StatusCode < 300
	accept := func(place string, v any) {
		if success {
			s.recordValue(id, place, v)
		}
	}
	sent := bodyFields(got, route, accept)
	each("", bodyValue(got.Header, got.body), func(place string, v any) {
		s.seen[status+place] = true
		if shown.add(place, v); answered.isMap(place) {
			shown[place] += content(v)
		}
		o, _ := v.(object)
		for _, schema := range answered[place] {
			for name, p := range schema.Properties {
				s.shown[p] = s.shown[p] || o[name] != nil
			}
			at := instant(v).UTC()
			zero := at.IsZero() || at.Unix() == 0 && !s.seen["sent "+at.String()]
			isTime := v != nil && schema.Format == "date-time"
			got.promise(t, route, "time", !isTime || !zero, "%s: got %v, want a time that is not zero", place, v)
		}
	})
	s.seen[id+" without a body"] = s.seen[id+" without a body"] || success && got.sent.body == ""
	ids := identifiers(route, got.Request.URL.Opaque)
	for _, p := range parameters(route) {
		place, texts := " "+p.In+" "+p.Name, got.Request.URL.Query()[p.Name]
		switch p.In {
		case openapi3.ParameterInHeader:
			texts = got.Request.Header.Values(p.Name)
		case openapi3.ParameterInPath:
			texts = []string{ids[p.Name]}
		}
		given[place] = encode(texts)
		s.seen[place+given[place]] = s.seen[place+given[place]] || success
		query, known := url.Values{p.Name: texts}.Encode(), s.queries[id+" "+p.Name]
		if success && query != "" && !slices.Contains(known, query) {
			s.queries[id+" "+p.Name] = append(known, query)
		}
		if p.Schema.Value.Type.Is("array") {
			each(place, decode(given[place]), accept)
		} else if len(texts) > 0 {
			accept(place, texts[0])
		}
	}
	if len(got.body) > len(s.longest[id].body) && got.StatusCode == http.StatusOK && route.Method == http.MethodGet {
		s.longest[id] = got
	}
	if got.Request.Method != http.MethodHead {
		s.recordEffects(got, route, given)
		s.checkShown(t, got, route, sent, shown)
	}
}

// bodyFields returns what a response should show of the body of a request, with defaults of what it
// leaves out, and calls accept for each value. Of a merge-patch it is nothing: see checkMerge.
func bodyFields(got response, route *routers.Route, accept func(place string, v any)) fields {
	sent, documented := fields{}, schemasOf(requestContent(route))
	each("", bodyValue(got.Request.Header, got.sent.body), func(place string, v any) {
		if documented[place] == nil || got.sent.body == "" {
			return
		}
		accept(place, v)
		if sent.add(place, v); documented.isMap(place) {
			sent[place] += content(v)
		}
	})
	if isMergePatch(got) {
		return fields{}
	}
	for place, combined := range documented {
		_, given := sent[place]
		within := place[:max(0, strings.LastIndex(place, "."))]
		if v := combined[0].Default; v != nil && !given && sent[within] == "{}" && route.Method != http.MethodPatch {
			sent.add(place, decode(encode(v)))
		}
	}
	return sent
}

// recordValue records a value that was accepted.
func (s *suite) recordValue(id, place string, v any) {
	see := func(what ...any) { s.seen[id+place+fmt.Sprint(what...)] = true }
	see(" valid value")
	if s.differs(place, encode(v)) { // whatever operation had the first
		see(" other value")
	}
	switch v := v.(type) {
	case nil:
		see(" null")
	case []any:
		see(" items ", len(v))
	case object:
		see(" properties ", len(v))
		if slices.Contains(slices.Collect(maps.Values(v)), nil) {
			see(" null in it")
		}
	case json.Number:
		see(" value ", v)
	case string:
		see(" value ", v)
		see(" length ", utf8.RuneCountInString(v))
		if strings.Contains(v, long) {
			see(" long text")
		}
		if at := instant(v); !at.IsZero() {
			s.seen["sent "+at.UTC().String()] = true
			if !strings.HasSuffix(v, "Z") {
				see(" time with an offset")
			}
		}
	}
}

// recordEffects records which parameters of a GET change the response to a request that is the same
// otherwise. That a parameter is not valid is no effect, nor that an identifier is unknown everywhere.
func (s *suite) recordEffects(got response, route *routers.Route, given map[string]string) {
	body := got.body
	switch {
	case route.Method == http.MethodGet && got.StatusCode == http.StatusNotFound:
		body = "none"
	case route.Method != http.MethodGet || got.StatusCode >= 300:
		return
	}
	for place, value := range given {
		if got.StatusCode == http.StatusNotFound && !s.seen[place+value] {
			continue
		}
		others := maps.Clone(given)
		delete(others, place)
		request := fmt.Sprint(s.writes, route.Path, place, others)
		if isOther, changed := s.differs("value"+request, value), s.differs("body"+request, body); isOther && changed {
			s.seen[route.Operation.OperationID+place+" effect"] = true
		}
	}
}

// checkShown checks that a response shows what the last request that wrote there has sent, and that
// another body has another ETag. If a service stores something else than it gets, such as names
// without spaces around them, this is the place to say so.
func (s *suite) checkShown(t *testing.T, got response, route *routers.Route, sent, shown fields) {
	t.Helper()
	path, tag, r := got.Request.URL.Opaque, got.Header.Get("ETag"), route.Operation.Responses.Status(got.StatusCode)
	if got.StatusCode >= 300 || r == nil {
		return
	}
	if route.Method == http.MethodGet {
		changed := s.differs(got.Request.URL.String()+tag, got.body)
		got.assert(t, tag == "" || !changed, "ETag: got %s, which another body had, want another", tag)
	} else {
		location, _ := url.Parse(got.Header.Get("Location"))
		s.writes, s.paths, s.written = s.writes+1, []string{path, location.Path}, sent
		s.media = got.Request.Header.Get("Content-Type")
	}
	for place := range schemasOf(r.Value.Content) {
		want, wasSent := s.written[place]
		wasSent = wasSent && (place != "" || s.media == got.Header.Get("Content-Type"))
		if wasSent && got.body != "" && slices.Contains(s.paths, path) {
			got.assert(t, shown[place] == want, "%s: got %.300s, want %.300s as it was sent, or by default", place, shown[place], want)
		}
	}
}

// limits returns the last size within each limit, and the next. It leaves out those of which no
// request can have the next.
func limits(s *openapi3.Schema) (last, next []string) {
	keywords, _ := decode(encode(s)).(object)
	for what, size := range map[string]string{
		" items ": "Items", " length ": "Length", " properties ": "Properties", " value ": "imum",
	} {
		for bound, step := range map[string]float64{"min": -1, "max": 1} {
			limit, err := strconv.ParseFloat(fmt.Sprint(keywords[bound+size]), 64)
			if err != nil || limit+step == limit || size == "Length" && limit >= service.MaxBody {
				continue
			}
			if keywords["exclusiveM"+bound[1:]+size] == true {
				limit -= step
			}
			last, next = append(last, what+encode(limit)), append(next, what+encode(limit+step))
		}
	}
	if s.Format == "date-time" {
		last = append(last, " time with an offset")
	}
	if s.Nullable {
		last = append(last, " null")
	}
	if entry := s.AdditionalProperties.Schema; entry != nil && entry.Value.Nullable {
		last = append(last, " null in it")
	}
	return last, next
}

// coverage tests that the cases have seen every response that a client can cause, every
// header of a success and every property, and that they have sent every parameter and property
// with different values, up to its limits. TestSocket causes the 408, because a proxy would
// wait for the body.
func (s *suite) coverage(t *testing.T) {
	want := func(name, what string) {
		assert(t, s.seen[name+what], "%s: got no%s, want a case with it", name, what)
	}
	for _, route := range s.operations() {
		o, success := route.Operation, false
		for status, r := range o.Responses.Map() {
			name := o.OperationID + " " + status
			if status != "408" && status != "429" && status < "500" && (status != "403" || s.readOnlyKey != "") {
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
					for property, p := range part.Properties {
						shown := s.shown[p] || p.Value.WriteOnly
						assert(t, shown, "%s%s.%s: got no value, want a case with one", name, place, property)
						s.shown[p] = true // named once, although other operations have it
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
		for place, combined := range given {
			constant := slices.ContainsFunc(combined, func(part *openapi3.Schema) bool { return len(part.Enum) == 1 })
			if !constant && !strings.HasSuffix(place, "[]") { // the list that it is in has another value
				want(o.OperationID+place, " other value")
			}
			if part := combined[0]; part.Type.Is("string") && part.Format == "" && !strings.HasSuffix(place, "[]") && isValid(part, encode(long)) {
				want(o.OperationID+place, " long text")
			}
		}
		for _, p := range parameters(route) {
			place := " " + p.In + " " + p.Name
			if p.In != openapi3.ParameterInPath {
				given.add(place, p.Schema.Value)
			}
			if route.Method == http.MethodGet {
				want(o.OperationID+place, " effect")
			}
		}
		for place, combined := range given {
			want(o.OperationID+place, " valid value")
			for _, part := range combined {
				last, _ := limits(part)
				for _, limit := range last {
					want(o.OperationID+place, limit)
				}
			}
		}
	}
}
