package contract

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// The parts of openapi.yaml beyond the specification, and its form.

func TestTheEmbeddedDocumentIsTheOneAtTheTop(t *testing.T) {
	top, err := os.ReadFile("../../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(top, gen.Document) {
		t.Error("gen.Document: got another text than openapi.yaml, want the same: run make generate")
	}
}

func TestDatesStandInQuotesSoThatNoYAMLReaderMakesTimesOfThem(t *testing.T) {
	for _, line := range []string{"x-sunset: '2030-12-05'", "x-deprecated-at: '2026-11-21'"} {
		if n := strings.Count(string(gen.Document), line); n != 1 {
			t.Errorf("lines %s in openapi.yaml: got %d, want 1", line, n)
		}
	}
}

func TestADeprecatedOperationSaysSinceWhenWhyAndUntilWhen(t *testing.T) {
	for _, item := range document(t).Paths.Map() {
		for _, o := range item.Operations() {
			_, hasSunset := o.Extensions["x-sunset"]
			if hasSunset != o.Deprecated {
				t.Errorf("%s: got x-sunset %t, deprecated %t, want both or neither", o.OperationID, hasSunset, o.Deprecated)
			}
			if !o.Deprecated {
				continue
			}
			at, err := Date(o, "x-deprecated-at")
			if err != nil {
				t.Error(err)
			}
			sunset, err := Date(o, "x-sunset")
			if err != nil {
				t.Error(err)
			}
			if !at.Before(sunset) {
				t.Errorf("%s: got deprecated at %v and gone at %v, want it the other way round", o.OperationID, at, sunset)
			}
			if day := sunset.Format("2 January 2006"); !strings.Contains(strings.Join(strings.Fields(o.Description), " "), day) {
				t.Errorf("description of %s: got %q, want it to name %s", o.OperationID, o.Description, day)
			}
			if reason, _ := o.Extensions["x-deprecated-reason"].(string); reason != "Use GET /pets with a status filter instead." {
				t.Errorf("x-deprecated-reason of %s: got %q, want the specification's direction", o.OperationID, reason)
			}
		}
	}
}

func TestNoOperationOutlivesItsSunset(t *testing.T) {
	overdue, err := Overdue(document(t), time.Now())
	if err != nil || len(overdue) > 0 {
		t.Errorf("operations past their sunset: got %v (%v), want none: remove them from openapi.yaml", overdue, err)
	}
}

func TestTheSunsetCheckFailsOnceTheDateHasPassed(t *testing.T) {
	d := document(t)
	for day, want := range map[string][]string{
		"2026-11-21": nil,
		"2030-12-05": nil,
		"2030-12-06": {"getPet"},
		"2031-01-01": {"getPet"},
	} {
		today, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Overdue(d, today); err != nil || !slices.Equal(got, want) {
			t.Errorf("overdue on %s: got %v (%v), want %v", day, got, err, want)
		}
	}
}

// decided are the codes the service stands by, by status.
var decided = map[int][]string{
	400: {"invalid_parameter", "invalid_body", "invalid_request"},
	401: {"unauthorized"},
	403: {"forbidden"},
	404: {"not_found"},
	405: {"method_not_allowed"},
	413: {"payload_too_large"},
	415: {"unsupported_media_type"},
	422: {"idempotency_key_reused"},
	429: {"rate_limited"},
	500: {"internal"},
	503: {"unavailable"},
}

func TestTheTableOfCodesListsWhatWasDecided(t *testing.T) {
	codes := Codes(document(t))
	for status, want := range decided {
		if got := codes[status]; !slices.Equal(got, want) {
			t.Errorf("codes of %d: got %q, want %q", status, got, want)
		}
	}
	if got, want := len(codes), len(decided); got != want {
		t.Errorf("statuses of the table: got %d, want %d", got, want)
	}
}

func TestTheSchemaOfErrorHasTheCodesOfTheTableInItsOrder(t *testing.T) {
	d := document(t)
	codes := Codes(d)
	var table []any
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		for _, code := range codes[status] {
			table = append(table, code)
		}
	}
	code := d.Components.Schemas["Error"].Value.Properties["code"].Value
	if got := code.Extensions["x-extensible-enum"]; !reflect.DeepEqual(got, table) {
		t.Errorf("x-extensible-enum of Error.code: got %q, want %q", got, table)
	}
	if len(code.Enum) > 0 {
		t.Errorf("enum of Error.code: got %q, want an open set", code.Enum)
	}
}

func TestEveryOperationDocumentsTheStatusesItCanSend(t *testing.T) {
	for _, item := range document(t).Paths.Map() {
		for method, o := range item.Operations() {
			want := errorsOf(method, o, slices.Concat(item.Parameters, o.Parameters))
			got := slices.DeleteFunc(slices.Sorted(maps.Keys(o.Responses.Map())), func(status string) bool { return status < "300" })
			if !slices.Equal(got, want) {
				t.Errorf("statuses of errors of %s: got %v, want %v", o.OperationID, got, want)
			}
		}
	}
}

// errorsOf returns the statuses of errors that an operation can send, sorted: those
// of every operation, and those that its requests bring.
func errorsOf(method string, o *openapi3.Operation, parameters openapi3.Parameters) []string {
	statuses := []string{"401", "429", "500", "503"}
	if len(parameters) > 0 || o.RequestBody != nil {
		statuses = append(statuses, "400")
	}
	if o.RequestBody != nil {
		statuses = append(statuses, "413", "415")
	}
	if method != http.MethodGet {
		statuses = append(statuses, "403")
	}
	for _, p := range parameters {
		switch {
		case p.Value.In == "path":
			statuses = append(statuses, "404")
		case p.Value.Name == "Idempotency-Key":
			statuses = append(statuses, "422")
		}
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

func TestEveryResponseDocumentsItsHeadersAndOnlyThoseOfADeprecatedOperationAnnounceIt(t *testing.T) {
	wants := map[string]string{"201": "Location", "401": "WWW-Authenticate", "403": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After"}
	for _, item := range document(t).Paths.Map() {
		for _, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				names := []string{"X-Request-Id"}
				if wants[status] != "" {
					names = append(names, wants[status])
				}
				announces := []string{"Deprecation", "Sunset", "Link"}
				if o.Deprecated {
					names = append(names, announces...)
				}
				for _, name := range announces[:2] {
					if r.Value.Headers[name] != nil && !o.Deprecated {
						t.Errorf("%s %s: got the header %s, want it at deprecated operations alone", o.OperationID, status, name)
					}
				}
				for _, name := range names {
					h := r.Value.Headers[name]
					if h == nil {
						t.Errorf("%s %s: got no header %s, want it documented", o.OperationID, status, name)
					} else if h.Value.Required {
						t.Errorf("%s %s %s: got required, want optional: the generated code would send it empty", o.OperationID, status, name)
					}
				}
			}
		}
	}
}

// TestEveryPatternIsARegularExpressionToRE2 stands for the tools that are written
// in Go, Rust or Python; ECMAScript's verdict is the linters'.
func TestEveryPatternIsARegularExpressionToRE2(t *testing.T) {
	data, err := document(t).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var parts any
	if err := json.Unmarshal(data, &parts); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range patterns(parts) {
		count++
		if _, err := regexp.Compile(p); err != nil {
			t.Errorf("pattern %s: got %v, want it to compile", p, err)
		}
	}
	if count < 3 {
		t.Errorf("patterns of openapi.yaml: got %d, want those of the name, the Idempotency-Key and the X-Request-Id", count)
	}
}

// patterns returns the values of every key "pattern" below v.
func patterns(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = append(all, patterns(e)...)
		}
	case map[string]any:
		for k, e := range v {
			if p, ok := e.(string); ok && k == "pattern" {
				all = append(all, p)
			}
			all = append(all, patterns(e)...)
		}
	}
	return all
}

// sample is a place of the document that has to have an example.
type sample struct {
	where    string
	schema   *openapi3.SchemaRef
	example  any
	examples openapi3.Examples
}

// samples returns every parameter, header, body and schema of the document.
func samples(d *openapi3.T) (all []sample) {
	for path, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			where := method + " " + path
			for _, p := range o.Parameters {
				all = append(all, sample{where + " " + p.Value.Name, p.Value.Schema, p.Value.Example, p.Value.Examples})
			}
			if o.RequestBody != nil {
				all = append(all, ofContent(where, o.RequestBody.Value.Content)...)
			}
			for status, r := range o.Responses.Map() {
				all = append(all, ofContent(where+" "+status, r.Value.Content)...)
				for name, h := range r.Value.Headers {
					all = append(all, sample{where + " " + status + " " + name, h.Value.Schema, h.Value.Example, h.Value.Examples})
				}
			}
		}
	}
	for name, s := range d.Components.Schemas {
		all = append(all, sample{where: name, schema: s, example: s.Value.Example})
		for property, p := range s.Value.Properties {
			all = append(all, sample{where: name + "." + property, schema: p, example: p.Value.Example})
		}
	}
	return all
}

func ofContent(where string, c openapi3.Content) (all []sample) {
	for _, m := range c {
		all = append(all, sample{where, m.Schema, m.Example, m.Examples})
	}
	return all
}

// exampleInDescription are the parameters whose example stands in their
// description, and why: tools that import the document send every example.
var exampleInDescription = map[string]string{
	"POST /pets Idempotency-Key": "the second animal with the same key is a 422",
	"GET /pets after":            "the animals up to it would be missing",
	"GET /pets Prefer":           "tools that add parameters of their own would be refused",
	"POST /pets Prefer":          "tools that add parameters of their own would be refused",
}

func TestEveryParameterHeaderBodyAndFieldHasAnExampleThatFits(t *testing.T) {
	for _, s := range samples(document(t)) {
		values := map[string]any{}
		if s.example != nil {
			values["example"] = s.example
		}
		for name, e := range s.examples {
			values[name] = e.Value.Value
		}
		if _, described := exampleInDescription[s.where]; described != (len(values) == 0) {
			t.Errorf("%s: got %d examples, want one, or the reason why not in exampleInDescription", s.where, len(values))
		}
		for name, v := range values {
			if err := s.schema.Value.VisitJSON(v); err != nil {
				t.Errorf("%s, %s: got one that does not fit its schema: %v", s.where, name, err)
			}
		}
	}
}
