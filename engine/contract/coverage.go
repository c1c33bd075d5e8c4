package contract

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// history is what requests have sent and responses have shown.
type history struct {
	seen     map[string]bool     // what coverage wants
	first    map[string]string   // the first value that each name had; see differs
	queries  map[string][]string // what each parameter of a list has been, as status=sold
	accepted map[string]string   // the last body of each operation that was tested with an Idempotency-Key
	ends     map[string]string   // the last page of each list
	writes   int                 // the number of writes that succeeded
}

// differs reports whether a name had another value at first.
func (h history) differs(name, value string) bool {
	if _, known := h.first[name]; !known {
		h.first[name] = value
	}
	return h.first[name] != value
}

// placeOf returns the name of a parameter that is a place in a request, as .name is one in its body.
func placeOf(p *openapi3.Parameter) string { return " " + p.In + " " + p.Name }

// record records a request to an operation, and what its response has. Another body must have another ETag.
func (s *Suite) record(t *testing.T, got Response) {
	id, documented := got.route.Operation.OperationID, schemasOf(got.content())
	status := fmt.Sprint(id, " ", got.StatusCode)
	s.seen[status+" response"] = true
	for name := range got.Header {
		s.seen[status+" "+name] = true
	}
	each("", got.value, func(place string, v any) {
		o, _ := v.(object)
		list, _ := v.([]any)
		s.seen[status+place+" entry"] = s.seen[status+place+" entry"] || len(o)+len(list) > 0
		for _, part := range documented[place] {
			s.seen[fmt.Sprintf("%p value %v", part, v)] = true
			for name, p := range part.Properties {
				s.seen[fmt.Sprintf("%p shown", p)] = s.seen[fmt.Sprintf("%p shown", p)] || o[name] != nil
			}
			isZero := instant(v).IsZero() || instant(v).Unix() == 0
			ok := part.Format != "date-time" || v == nil || !isZero
			got.promise(t, "time", ok, "%s: got %v, want a time that is not zero", place, v)
		}
	})
	if got.Request.Method == http.MethodHead {
		return
	}
	s.recordParameters(got)
	if got.StatusCode >= 300 {
		return
	}
	if got.route.Method != http.MethodGet {
		s.writes++
	} else if tag := got.Header.Get("ETag"); tag != "" {
		changed := s.differs(got.Request.URL.String()+tag, got.Body)
		got.Assert(t, !changed, "ETag: got %s, which another body had, want another", tag)
	}
}

// recordParameters records the values of parameters that were accepted, and which parameters of a GET change the
// response to a request that is the same otherwise. That an identifier is unknown everywhere is no effect.
func (s *Suite) recordParameters(got Response) {
	id, body := got.route.Operation.OperationID, got.Body
	isMissing := got.StatusCode == http.StatusNotFound
	if isMissing {
		body = "none"
	} else if got.StatusCode >= 300 {
		return
	}
	for _, p := range parameters(got.route) {
		place, ids, query := placeOf(p), maps.Clone(got.ids), got.Request.URL.Query()
		texts := map[string][]string{
			openapi3.ParameterInPath: {ids[p.Name]}, openapi3.ParameterInQuery: query[p.Name],
			openapi3.ParameterInHeader: got.Request.Header.Values(p.Name),
		}[p.In]
		delete(ids, p.Name)
		delete(query, p.Name)
		value, request := Encode(texts), fmt.Sprint(s.writes, got.route.Path, place, ids, query)
		s.seen[place+value] = s.seen[place+value] || !isMissing
		if s.seen[place+value] && got.route.Method == http.MethodGet {
			isOther, changed := s.differs("value"+request, value), s.differs("body"+request, body)
			s.seen[id+place+" effect"] = s.seen[id+place+" effect"] || isOther && changed
		}
		if isMissing || len(texts) == 0 {
			continue
		}
		s.seen[id+place+" value"] = true
		s.queries[id+place] = append(s.queries[id+place], url.Values{p.Name: texts}.Encode())
		s.differs(place, texts[0]) // for otherIdentifiers
	}
}

// due returns what is to be tested of an operation beside its responses.
func due(r *routers.Route) (all []string) {
	add := func(isDue bool, what string) {
		if isDue {
			all = append(all, what)
		}
	}
	media, _ := jsonBody(requestContent(r))
	isGet := r.Method == http.MethodGet
	add(true, " examples") // of what it requires
	add(!isGet, " read back")
	add(media != "", " values")
	add(parameter(r, "Idempotency-Key") != nil, " repeat")
	for _, p := range parameters(r) {
		add(isGet, placeOf(p)+" effect")
		add(!isGet && p.In != openapi3.ParameterInPath, placeOf(p)+" value")
	}
	add(isGet && parameter(r, "limit") != nil, " walk")
	return all
}

// want tests that something has been seen.
func (s *Suite) want(t *testing.T, name, what string) {
	s.Assert(t, s.seen[name+what] || s.exempt(name+what), "%s: got no%s, want a case with it", name, what)
}

// coverage tests that every response, header and property that a client can cause has been seen, but for the 408.
func (s *Suite) coverage(t *testing.T) {
	table := "only cases test: filters together, writes at once without an Idempotency-Key, keys of refused requests,\n" +
		"of two operations, of long ago or in another case, what a body leaves out, bodies other than JSON, limits of a\n" +
		"write's parameters, the order in a property, headers and properties that the document lacks, jobs that are\n" +
		"missing for a while, and what a write changes elsewhere; tested of each operation:"
	for _, r := range s.operations {
		id := r.Operation.OperationID
		lacks := func(p *openapi3.Parameter) bool {
			return p.Required && p.Example == nil && exampleOf(p.Schema.Value) == nil
		}
		s.seen[id+" examples"] = !slices.ContainsFunc(parameters(r), lacks)
		table += "\n" + id + ":"
		for _, what := range due(r) {
			s.want(t, id, what)
			table += what
			if reason := s.Unpromised[id+what]; reason != "" {
				table += " (not tested: " + reason + ")"
			} else if s.seen[id+what+" of unknown elements"] {
				table += " (which elements and in what order, only cases test)"
			}
			table += ";"
		}
		s.wantShown(t, r)
	}
	for name := range s.Unpromised {
		s.Assert(t, s.seen[name+" exempt"], "%s: want no reason in Unpromised, since it is so", name)
	}
	fmt.Println(table) // not to t.Log, which needs -v
}

// wantShown tests that every response, header, property and value has been seen.
func (s *Suite) wantShown(t *testing.T, r *routers.Route) {
	o := r.Operation
	once := func(key, name string) {
		s.Assert(t, s.seen[key] || s.exempt(name), "%s: got no such value, want a case with it", name)
		s.seen[key] = true // named once, although other operations have it
	}
	for status, r := range o.Responses.Map() {
		name := o.OperationID + " " + status
		if status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "") {
			s.want(t, name, " response")
		}
		for header := range r.Value.Headers {
			if status < "300" && !(o.Deprecated && header == "Link") { // to the page, which may have been removed
				s.want(t, name, " "+http.CanonicalHeaderKey(header))
			}
		}
		if !s.seen[name+" response"] {
			continue
		}
		for place, combined := range schemasOf(r.Value.Content) {
			for _, part := range combined {
				for _, v := range part.Enum {
					once(fmt.Sprintf("%p value %v", part, v), fmt.Sprint(o.OperationID, " ", place, " ", v))
				}
				if part.AdditionalProperties.Schema != nil || part.Items != nil {
					s.want(t, name+place, " entry")
				}
				for property, p := range part.Properties {
					if !p.Value.WriteOnly {
						once(fmt.Sprintf("%p shown", p), name+place+"."+property)
					}
				}
			}
		}
	}
}
