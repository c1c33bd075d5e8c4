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
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/internal/service"
)

// history is what requests have sent and responses have shown.
type history struct {
	seen      map[string]bool      // what coverage wants
	outcomes  map[string][2]string // by a request without a field: its last value, and what came back
	resources map[string]resource  // by path
}

// fields are values by their place, such as .owner.name or " query limit". Those of the items
// of a list are joined, null is "" and a time is in UTC.
type fields map[string]string

// resource is what responses of a path have shown, and the last request that wrote there.
type resource struct {
	shown, before, sent fields
	writer              string
}

// missing is the value of a property that an object lacks.
var missing any = struct{}{}

func (f fields) add(place string, v any) {
	if at := instant(v); !at.IsZero() {
		v = at.UTC()
	}
	if f[place] += ""; v != nil && v != missing {
		f[place] += encode(v)
	}
}

// instant returns the time that a JSON value is, or else zero.
func instant(v any) time.Time {
	text, _ := v.(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// parts returns a schema and those that it combines.
func parts(s *openapi3.Schema) []*openapi3.Schema {
	all := []*openapi3.Schema{s}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		all = append(all, parts(part.Value)...)
	}
	return all
}

// isLeaf reports whether a place has values or lists of values, without properties.
func isLeaf(place string, s *openapi3.Schema) bool {
	return !strings.HasSuffix(place, "[]") && !slices.ContainsFunc(parts(s), func(s *openapi3.Schema) bool {
		return len(s.Properties) > 0 || s.Items != nil && !isLeaf("", s.Items.Value)
	})
}

// each visits a value and what its schema says is within, also if it is missing; of a tree
// the root.
func each(
	place string, s *openapi3.Schema, v any, visit func(place string, s *openapi3.Schema, v any), within ...*openapi3.Schema,
) {
	if slices.Contains(within, s) {
		return
	}
	visit(place, s, v)
	within = append(slices.Clone(within), s)
	values, _ := v.(object)
	items, isList := v.([]any)
	if !isList {
		items = []any{missing}
	}
	for _, part := range parts(s) {
		for name, p := range part.Properties {
			value, has := values[name]
			if !has {
				value = missing
			}
			each(place+"."+name, p.Value, value, visit, within...)
		}
		for _, item := range items {
			if part.Items != nil {
				each(place+"[]", part.Items.Value, item, visit, within...)
			}
		}
	}
}

// record records a request to an operation, and its response.
func (s *suite) record(t *testing.T, got response, route *routers.Route) {
	t.Helper()
	o, id, sent, shown := route.Operation, route.Operation.OperationID, fields{}, fields{}
	status := fmt.Sprint(id, " ", got.StatusCode)
	s.seen[status] = true
	for name := range got.Header {
		s.seen[status+" "+name] = true
	}
	if r := o.Responses.Status(got.StatusCode); r != nil {
		each("", schema(r.Value.Content), decode(got.body), func(place string, _ *openapi3.Schema, v any) {
			s.seen[status+place] = s.seen[status+place] || v != missing
			shown.add(place, v)
			_, zone := instant(v).Zone()
			_, local := instant(v).Local().Zone()
			got.assert(t, zone == 0 || zone != local, "%s: got %v, the local time of the server", place, v)
		})
	}
	for _, p := range parameters(route.PathItem, o) {
		place := " " + p.In + " " + p.Name
		each(place, p.Schema.Value, s.value(p, got, route), func(inner string, _ *openapi3.Schema, v any) {
			s.recordSize(got, id, inner, v)
			if inner == place {
				sent.add(place, v)
			}
		})
	}
	if o.RequestBody != nil {
		each("", schema(o.RequestBody.Value.Content), decode(got.sent.body), func(place string, schema *openapi3.Schema, v any) {
			s.recordSize(got, id, place, v)
			if v == nil || isLeaf(place, schema) && (v != missing || route.Method != http.MethodPatch) {
				sent.add(place, v)
			}
		})
	}
	if got.Request.Method != http.MethodHead {
		s.recordOutcome(got, route, sent)
		s.recordChanges(got, route, sent, shown)
	}
}

// value returns the text or the texts of a parameter of a request.
func (s *suite) value(p *openapi3.Parameter, got response, route *routers.Route) any {
	texts := got.Request.URL.Query()[p.Name]
	switch i := slices.Index(strings.Split(s.base+route.Path, "/"), "{"+p.Name+"}"); {
	case p.In == openapi3.ParameterInHeader:
		texts = got.Request.Header.Values(p.Name)
	case p.In == openapi3.ParameterInPath && i >= 0:
		text, _ := url.PathUnescape(strings.Split(got.Request.URL.Opaque, "/")[i])
		return text
	}
	switch {
	case len(texts) == 0:
		return missing
	case p.Schema.Value.Type.Is("array"):
		return decode(encode(texts))
	}
	return texts[0]
}

// recordSize records how large a value is that was accepted, or refused by its name.
func (s *suite) recordSize(got response, id, place string, v any) {
	name, outcome := strings.TrimRight(place[strings.LastIndexAny(place, " .")+1:], "[]"), " accepted"
	if got.StatusCode == http.StatusBadRequest && strings.Contains(got.body, name) {
		outcome = " refused"
	} else if got.StatusCode >= 300 && (got.StatusCode != http.StatusNotFound || !strings.HasPrefix(place, " ")) {
		return
	}
	see := func(what string, size any) { s.seen[fmt.Sprint(id, place, what, size, outcome)] = true }
	switch v := v.(type) {
	case []any:
		see(" items ", len(v))
	case json.Number:
		see(" value ", v)
	case string:
		see(" value ", v)
		see(" length ", utf8.RuneCountInString(v))
		if !instant(v).IsZero() && !strings.HasSuffix(v, "Z") {
			see(" time with an offset", "")
		}
	}
}

// recordOutcome records which fields change what comes back for a request that is the same
// otherwise: the status or, of a GET, the body. That a field is not valid is no change.
func (s *suite) recordOutcome(got response, route *routers.Route, sent fields) {
	if slices.Contains([]int{400, 401, 403, 404, 413, 415}, got.StatusCode) {
		return
	}
	now, outcome := map[string][2]string{}, fmt.Sprint(got.StatusCode)
	if route.Method == http.MethodGet {
		outcome += got.body
	}
	for place, value := range sent {
		others := maps.Clone(sent)
		delete(others, place)
		request := fmt.Sprint(route.Method, got.Request.URL.Opaque, place, others)
		now[request] = [2]string{value, outcome}
		if last, known := s.outcomes[request]; known && last[0] != value && last[1] != outcome {
			name := route.Operation.OperationID + place
			s.seen[name], s.seen[name+" keyed"] = true, sent[key] != "" || s.seen[name+" keyed"]
		}
	}
	if route.Method != http.MethodGet && got.StatusCode < 300 {
		clear(s.outcomes) // a GET may read something else now
	}
	maps.Copy(s.outcomes, now)
}

const key, tag = " header Idempotency-Key", " header ETag"

// recordChanges records which properties the responses of a path show as the last request that
// wrote there, and not as before, and which of them, changed alone, have changed the ETag.
func (s *suite) recordChanges(got response, route *routers.Route, sent, shown fields) {
	if got.StatusCode >= 300 {
		return
	}
	path := got.Request.URL.Opaque
	at := s.resources[path]
	if route.Method != http.MethodGet {
		at = resource{shown: at.shown, before: at.shown, sent: sent, writer: route.Operation.OperationID}
	}
	if shown[tag] = got.Header.Get("ETag"); got.body != "" {
		at.shown = shown
	}
	changed := slices.DeleteFunc(slices.Collect(maps.Keys(at.sent)), func(place string) bool {
		return at.before == nil || at.before[place] == at.sent[place] || shown[place] != at.sent[place]
	})
	for _, place := range changed {
		name := at.writer + place
		if len(changed) == 1 && at.before[tag] != shown[tag] {
			s.seen[name+tag] = true
		}
		if at.sent[place] == "" {
			name += " null"
		}
		s.seen[name+" shown"], s.seen[name+" shown by "+route.Operation.OperationID] = true, true
	}
	s.resources[path] = at
	if location, err := url.Parse(got.Header.Get("Location")); err == nil && location.Path != "" {
		s.resources[location.Path] = at
	}
}

// limits returns the last size within each limit, which is to be accepted, and the next,
// which is to be refused.
func limits(s *openapi3.Schema) (all []string) {
	keywords, _ := decode(encode(s)).(object)
	for what, size := range map[string]string{" items ": "Items", " length ": "Length", " value ": "imum"} {
		for bound, step := range map[string]float64{"min": -1, "max": 1} {
			limit, err := strconv.ParseFloat(fmt.Sprint(keywords[bound+size]), 64)
			if err != nil || limit+step == limit || size == "Length" && limit >= service.MaxBody {
				continue // there is none, or no request has the next
			}
			if keywords["exclusiveM"+bound[1:]+size] == true {
				limit -= step
			}
			all = append(all, what+encode(limit)+" accepted", what+encode(limit+step)+" refused")
		}
	}
	if s.Format == "date-time" {
		all = append(all, " time with an offset accepted")
	}
	for _, part := range parts(s)[1:] {
		all = append(all, limits(part)...)
	}
	return all
}

// coverage tests that the cases have seen every response that a client can cause, every
// header of a success and every property, and that they have changed all that a request can
// change, up to its limits. TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t *testing.T) {
	want := func(name, seen, what string) {
		assert(t, s.seen[name+seen], "%s: got no%s, want a case with it", name, what)
	}
	wantLimits := func(place string, schema *openapi3.Schema, _ any) {
		for _, limit := range limits(schema) {
			if limit != " length 0 refused" || !strings.Contains(place, " path ") { // of a path, which is another
				want(place, limit, limit)
			}
		}
	}
	for _, item := range s.document.Paths.Map() {
		for method, o := range item.Operations() {
			success := false
			for status, r := range o.Responses.Map() {
				name := o.OperationID + " " + status
				if status != "408" && status != "429" && status < "500" && (status != "403" || s.readOnlyKey != "") {
					want(name, "", " such response")
				}
				for header := range r.Value.Headers {
					if status < "300" && !(o.Deprecated && header == "Link") { // to the page, which may have been removed
						want(name, " "+http.CanonicalHeaderKey(header), " header "+header)
					}
				}
				each("", schema(r.Value.Content), missing, func(place string, schema *openapi3.Schema, _ any) {
					if s.seen[name] && !schema.WriteOnly {
						want(name, place, " "+place)
					}
				})
				success = success || status < "300" && s.seen[name]
			}
			if !success {
				continue // with more to want
			}
			for _, p := range parameters(item, o) {
				name := o.OperationID + " " + p.In + " " + p.Name
				each(name, p.Schema.Value, missing, wantLimits)
				if p.In != openapi3.ParameterInPath {
					want(name, "", " response that it changes")
				}
			}
			if o.RequestBody != nil {
				each(o.OperationID, schema(o.RequestBody.Value.Content), missing, wantLimits)
				each("", schema(o.RequestBody.Value.Content), missing, wantChanges(item, method, want))
			}
		}
	}
}

// wantChanges returns a visitor that wants each property of a body changed, and null if it can
// be. A GET of the path shows it, if there is one that has it.
func wantChanges(
	item *openapi3.PathItem, method string, want func(name, seen, what string),
) func(place string, schema *openapi3.Schema, _ any) {
	o := item.GetOperation(method)
	by, tagged := map[string]string{}, false
	if item.Get != nil && item.Get.Responses.Status(http.StatusOK) != nil {
		ok := item.Get.Responses.Status(http.StatusOK).Value
		tagged = ok.Headers["ETag"] != nil && method != http.MethodPost
		each("", schema(ok.Content), missing, func(place string, _ *openapi3.Schema, _ any) {
			by[place] = " by " + item.Get.OperationID
		})
	}
	return func(place string, schema *openapi3.Schema, _ any) {
		name := o.OperationID + place
		if slices.ContainsFunc(parts(schema), func(s *openapi3.Schema) bool { return s.Nullable }) {
			want(name, " null shown"+by[place], " null shown"+by[place])
		}
		if !isLeaf(place, schema) {
			return
		}
		want(name, " shown"+by[place], " change shown"+by[place])
		if tagged {
			want(name, tag, " other ETag after a change of nothing else")
		}
		if o.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key") != nil {
			want(name, " keyed", " 422 after a change of nothing else")
		}
	}
}
