package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/service"
)

// judge checks responses against openapi.yaml, whatever the request was.
type judge struct {
	document *openapi3.T
	base     string           // the path below which the operations are
	codes    map[int][]string // the codes of Error bodies, by status
	headers  []string         // all headers that the document has for any response
	seen     map[string]bool  // operation and status, as in "getPet 404"
}

var codeRow = regexp.MustCompile("(?m)^\\| ([0-9]{3}) `([a-z_]+)` \\|")

func newJudge() *judge {
	document := example.Document()
	j := &judge{document: document, base: example.Base(), codes: map[int][]string{}, seen: map[string]bool{}}
	for _, tag := range document.Tags {
		for _, row := range codeRow.FindAllStringSubmatch(tag.Description, -1) {
			status, _ := strconv.Atoi(row[1]) // three digits
			j.codes[status] = append(j.codes[status], row[2])
		}
	}
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			for _, r := range o.Responses.Map() {
				j.headers = append(j.headers, headerNames(r.Value)...)
			}
		}
	}
	slices.Sort(j.headers)
	j.headers = slices.Compact(j.headers)
	return j
}

func headerNames(r *openapi3.Response) (names []string) {
	for name := range r.Headers {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names
}

// check returns what is wrong with the response to r.
func (j *judge) check(r request, got *http.Response, body []byte) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	path, _, _ := strings.Cut(r.target, "?")
	if id := got.Header.Values("X-Request-Id"); len(id) != 1 || !requestID.MatchString(id[0]) {
		add("X-Request-Id: got %q, want one that matches %v", id, requestID)
	}
	if v := got.Header.Get("X-Content-Type-Options"); v != "nosniff" {
		add("X-Content-Type-Options: got %q, want nosniff", v)
	}
	if v := got.Header.Get("Cache-Control"); strings.HasPrefix(path, j.base+"/") && v != "no-store" {
		add("Cache-Control: got %q, want no-store below %s", v, j.base)
	}
	noBody := r.method == http.MethodHead || got.StatusCode == http.StatusNoContent || got.StatusCode == http.StatusNotModified
	switch {
	case noBody && len(body) > 0:
		add("body: got %.100q, want none", body)
	case !noBody && got.StatusCode >= 400:
		wrong = append(wrong, j.errorBody(got, body)...)
	}
	for name, pattern := range statusHeaders[got.StatusCode] {
		if v := got.Header.Values(name); len(v) != 1 || !regexp.MustCompile(pattern).MatchString(v[0]) {
			add("%s: got %q, want one that matches %s", name, v, pattern)
		}
	}

	template, item := j.find(path)
	var o *openapi3.Operation
	if item != nil {
		o = item.Operations()[strings.Replace(r.method, http.MethodHead, http.MethodGet, 1)]
	}
	switch {
	case o != nil:
		wrong = append(wrong, j.operation(&routers.Route{Spec: j.document, Path: template, PathItem: item, Method: http.MethodGet, Operation: o}, r, got, body)...)
	case got.Header.Get("Deprecation")+got.Header.Get("Sunset") != "":
		add("Deprecation, Sunset: got %q, %q, want none outside the operations", got.Header.Get("Deprecation"), got.Header.Get("Sunset"))
	case item != nil && r.method == http.MethodOptions:
		wrong = append(wrong, allow(got, http.StatusNoContent, item)...)
	case item != nil:
		wrong = append(wrong, allow(got, http.StatusMethodNotAllowed, item)...)
	}
	return wrong
}

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// statusHeaders are the headers that a status requires.
var statusHeaders = map[int]map[string]string{
	http.StatusUnauthorized:       {"WWW-Authenticate": `^Bearer realm="petstore"(, error="invalid_token"(, error_description="[A-Za-z ]+")?)?$`},
	http.StatusForbidden:          {"WWW-Authenticate": `^Bearer realm="petstore", error="insufficient_scope"$`},
	http.StatusMethodNotAllowed:   {"Allow": `^[A-Z]+(, [A-Z]+)*$`},
	http.StatusTooManyRequests:    {"Retry-After": `^[0-9]+$`},
	http.StatusServiceUnavailable: {"Retry-After": `^[0-9]+$`},
}

// leak matches traces of the implementation in a message to a client.
var leak = regexp.MustCompile(`json:|jsontext|strconv|nmarshal|invalid character|[Ss]chema|openapi|echo|code=|internal=|0x|goroutine|\.go\b|` +
	`(?i:\bsql|select |insert )|constraint|\bnil\b|panic|\bEOF\b|\btcp\b|/tmp|/home|/root|struct|float64|%!|map\[|context |` + service.Name + `\.|` + keys.Pattern.String())

// errorBody checks the body of an error response.
func (j *judge) errorBody(got *http.Response, body []byte) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if v := got.Header.Values("Content-Type"); !slices.Equal(v, []string{"application/json"}) {
		add("Content-Type: got %q, want application/json", v)
	}
	var e struct {
		Code, Message *string
		Status        *int
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&e); err != nil || e.Code == nil || e.Message == nil || e.Status == nil {
		add("body: got %.200q (%v), want an Error with code, message and status", body, err)
		return wrong
	}
	if _, err := d.Token(); err != io.EOF {
		add("body: got %.200q, want nothing after the Error", body)
	}
	if *e.Status != got.StatusCode {
		add("status in the body: got %d, want %d", *e.Status, got.StatusCode)
	}
	if !slices.Contains(j.codes[got.StatusCode], *e.Code) {
		add("code: got %q, want one of %q", *e.Code, j.codes[got.StatusCode])
	}
	if m := *e.Message; m == "" || len(m) > 300 || strings.ContainsAny(m, "\n\r\t") || leak.MatchString(m) {
		add("message: got %q, want one plain sentence with nothing internal such as %q", m, leak.FindString(m))
	}
	return wrong
}

// find returns the path of the document that matches the path of a request, or
// nil. An encoded slash is not a separator.
func (j *judge) find(path string) (string, *openapi3.PathItem) {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = decoded
		}
	}
	for template, item := range j.document.Paths.Map() {
		if slices.EqualFunc(strings.Split(j.base+template, "/"), segments, func(want, got string) bool {
			return want == got || strings.HasPrefix(want, "{") && got != ""
		}) {
			return template, item
		}
	}
	return "", nil
}

// operation checks the response of a documented operation.
func (j *judge) operation(route *routers.Route, r request, got *http.Response, body []byte) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	o := route.Operation
	documented := o.Responses.Status(got.StatusCode)
	if documented == nil {
		add("status: got one that openapi.yaml does not have for %s", o.OperationID)
		return wrong
	}
	j.seen[fmt.Sprintf("%s %d", o.OperationID, got.StatusCode)] = true

	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: &http.Request{Method: http.MethodGet, URL: &url.URL{}}, Route: route},
		Status:                 got.StatusCode,
		Header:                 got.Header,
		Options:                &openapi3filter.Options{ExcludeResponseBody: true},
	})
	if err != nil {
		add("headers: %v", err)
	}
	may := headerNames(documented.Value)
	for _, name := range j.headers {
		if _, ok := got.Header[name]; ok && !slices.Contains(may, name) {
			add("%s: got %q, want none, as openapi.yaml has it for %s", name, got.Header.Get(name), o.OperationID)
		}
	}
	wrong = append(wrong, deprecation(o, got)...)
	if r.method == http.MethodHead || got.StatusCode >= 300 || len(documented.Value.Content) == 0 { // check has seen that a 204 has no body
		return wrong
	}
	if v := got.Header.Values("Content-Type"); !slices.Equal(v, []string{"application/json"}) {
		add("Content-Type: got %q, want application/json", v)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		add("body: got %.200q (%v), want JSON", body, err)
	} else if err := documented.Value.Content["application/json"].Schema.Value.VisitJSON(value, openapi3.VisitAsResponse()); err != nil {
		add("body: got %.200s, want it to match the schema: %v", body, err)
	}
	return append(wrong, petStatus(value)...)
}

// petStatus checks that every Pet in a body has a status, which the schema leaves
// optional.
func petStatus(body any) (wrong []string) {
	switch v := body.(type) {
	case []any:
		for _, item := range v {
			wrong = append(wrong, petStatus(item)...)
		}
	case map[string]any:
		if _, isPet := v["categoryId"]; isPet && v["status"] == nil {
			wrong = append(wrong, fmt.Sprintf("body: got %v, want a status in every Pet", v))
		}
	}
	return wrong
}

// deprecation checks that every response of a deprecated operation, and no
// other, announces its end.
func deprecation(o *openapi3.Operation, got *http.Response) (wrong []string) {
	want := map[string]string{"Deprecation": "^$", "Sunset": "^$"}
	if o.Deprecated {
		at, sunset := date(o, "x-deprecated-at"), date(o, "x-sunset")
		want["Deprecation"] = fmt.Sprintf("^@%d$", at.Unix())
		want["Sunset"] = "^" + sunset.Format(http.TimeFormat) + "$"
		want["Link"] = `^<[^<>]*/docs[^<>]*>; rel="deprecation"`
	}
	for name, pattern := range want {
		if v := strings.Join(got.Header.Values(name), ", "); !regexp.MustCompile(pattern).MatchString(v) {
			wrong = append(wrong, fmt.Sprintf("%s: got %q, want %s", name, v, pattern))
		}
	}
	return wrong
}

// date returns the date in an extension of an operation.
func date(o *openapi3.Operation, extension string) time.Time {
	text, _ := o.Extensions[extension].(string)
	at, _ := time.Parse(time.DateOnly, text) // the zero time if it is missing or invalid
	return at
}

// allow checks that a response has the given status and that Allow lists exactly
// the methods of the path.
func allow(got *http.Response, status int, item *openapi3.PathItem) (wrong []string) {
	if got.StatusCode != status {
		wrong = append(wrong, fmt.Sprintf("status: want %d", status))
	}
	methods := []string{http.MethodOptions}
	for method := range item.Operations() {
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	allowed := strings.Split(got.Header.Get("Allow"), ", ")
	slices.Sort(allowed)
	if !slices.Equal(allowed, methods) {
		wrong = append(wrong, fmt.Sprintf("Allow: got %q, want %q", allowed, methods))
	}
	return wrong
}
