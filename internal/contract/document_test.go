package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// What openapi.yaml says beyond the specification, and that it says it well.

func TestTheEmbeddedDocumentIsTheOneAtTheTop(t *testing.T) {
	top, err := os.ReadFile("../../openapi.yaml")
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
	for _, item := range NewJudge(t).Document().Paths.Map() {
		for _, o := range item.Operations() {
			_, hasSunset := o.Extensions["x-sunset"]
			if hasSunset != o.Deprecated {
				t.Errorf("%s: got x-sunset %t, deprecated %t, want both or neither", o.OperationID, hasSunset, o.Deprecated)
			}
			if !o.Deprecated {
				continue
			}
			at, err := extensionDate(o, "x-deprecated-at")
			if err != nil {
				t.Error(err)
			}
			sunset, err := extensionDate(o, "x-sunset")
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
	overdue, err := Overdue(NewJudge(t).Document(), time.Now())
	if err != nil || len(overdue) > 0 {
		t.Errorf("operations past their sunset: got %v (%v), want none: remove them from openapi.yaml", overdue, err)
	}
}

func TestTheSunsetCheckFailsOnceTheDateHasPassed(t *testing.T) {
	d := NewJudge(t).Document()
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

// decided are the codes of decisions the service stands by, by status. The
// document lists the same; what comes with a later feature is added with it.
var decided = map[int][]string{
	400: {"invalid_parameter", "invalid_body", "invalid_request"},
	401: {"unauthorized"},
	404: {"not_found"},
	405: {"method_not_allowed"},
	413: {"payload_too_large"},
	415: {"unsupported_media_type"},
	500: {"internal"},
	503: {"unavailable"},
}

func TestTheTableOfCodesListsWhatWasDecided(t *testing.T) {
	codes := NewJudge(t).Codes()
	for status, want := range decided {
		if got := codes[status]; !slices.Equal(got, want) {
			t.Errorf("codes of %d: got %q, want %q", status, got, want)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		for _, code := range codes[status] {
			if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(code) {
				t.Errorf("code of %d: got %q, want lower_snake_case", status, code)
			}
		}
	}
}

func TestEveryOperationDocumentsTheStatusesItCanSend(t *testing.T) {
	wants := map[string][]string{
		"listPets":  {"200", "400", "401", "500", "503"},
		"createPet": {"201", "400", "401", "413", "415", "422", "500", "503"},
		"getPet":    {"200", "400", "401", "404", "500", "503"},
	}
	for _, item := range NewJudge(t).Document().Paths.Map() {
		for _, o := range item.Operations() {
			if got := slices.Sorted(maps.Keys(o.Responses.Map())); !slices.Equal(got, wants[o.OperationID]) {
				t.Errorf("statuses of %s: got %v, want %v", o.OperationID, got, wants[o.OperationID])
			}
		}
	}
}

func TestEveryAnswerDocumentsItsHeaders(t *testing.T) {
	wants := map[string]string{"201": "Location", "401": "WWW-Authenticate", "503": "Retry-After"}
	for _, item := range NewJudge(t).Document().Paths.Map() {
		for _, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				names := []string{"X-Request-Id"}
				if wants[status] != "" {
					names = append(names, wants[status])
				}
				if o.Deprecated {
					names = append(names, "Deprecation", "Sunset", "Link")
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

func TestEveryParameterHeaderBodyAndFieldHasAnExampleThatFits(t *testing.T) {
	for _, s := range samples(NewJudge(t).Document()) {
		values := map[string]any{}
		if s.example != nil {
			values["example"] = s.example
		}
		for name, e := range s.examples {
			values[name] = e.Value.Value
		}
		if len(values) == 0 {
			t.Errorf("%s: got no example, want one", s.where)
		}
		for name, v := range values {
			if err := s.schema.Value.VisitJSON(v); err != nil {
				t.Errorf("%s, %s: got one that does not fit its schema: %v", s.where, name, err)
			}
		}
	}
}

func TestEveryExampleOfAnErrorIsOneTheServiceCouldSend(t *testing.T) {
	j := NewJudge(t)
	for path, item := range j.Document().Paths.Map() {
		for method, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				code, err := strconv.Atoi(status)
				if err != nil || code < 400 {
					continue
				}
				m := r.Value.Content["application/json"]
				examples := []any{m.Example}
				for _, e := range m.Examples {
					examples = append(examples, e.Value.Value)
				}
				for _, e := range examples {
					if e == nil {
						continue
					}
					answer := &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}}
					fields, _ := e.(map[string]any)
					body := fmt.Sprintf(`{"code":%q,"message":%q,"status":%v}`, fields["code"], fields["message"], fields["status"])
					for _, err := range j.errorBody(answer, []byte(body)) {
						t.Errorf("%s %s %s: %v", method, path, status, err)
					}
				}
			}
		}
	}
}
