package contract

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/service"
)

// statusHeaders are the headers that a status requires.
var statusHeaders = map[int]map[string]string{
	http.StatusUnauthorized:       {"WWW-Authenticate": `^Bearer realm="petstore"(, error="invalid_token"(, error_description="[A-Za-z ]+")?)?$`},
	http.StatusForbidden:          {"WWW-Authenticate": `^Bearer realm="petstore", error="insufficient_scope"$`},
	http.StatusTooManyRequests:    {"Retry-After": `^[0-9]+$`},
	http.StatusServiceUnavailable: {"Retry-After": `^[0-9]+$`},
}

var deprecation = regexp.MustCompile(`<[^<>]*/docs[^<>]*>; rel="deprecation"`)

// check reports what is wrong with a response, whatever the request was.
func (s *suite) check(t *testing.T, got response) {
	target, _, _ := strings.Cut(got.request.target, "?")
	hasBody := got.request.method != http.MethodHead && got.StatusCode != 204 && got.StatusCode != 304
	if !hasBody && len(got.body) > 0 {
		got.errorf(t, "body: got %.100q, want none", got.body)
	}
	route := s.route(target, got.request.method)
	header := map[string]string{
		"X-Request-Id": `^[A-Za-z0-9._-]{1,64}$`, "X-Content-Type-Options": "^nosniff$", "Deprecation": "", "Sunset": "",
	}
	if id := got.Header.Get("X-Request-Id"); !strings.Contains(fmt.Sprint(got.request.header), "X-Request-Id") {
		if s.seen[id] {
			got.errorf(t, "X-Request-Id: got %s twice, want another", id)
		}
		s.seen[id] = true
	}
	if strings.HasPrefix(target, s.base+"/") {
		header["Cache-Control"] = "^no-store$"
	}
	if hasBody && (route.Operation != nil || got.StatusCode >= 400) {
		header["Content-Type"] = "^application/json$"
	}
	if o := route.Operation; o != nil && o.Deprecated {
		header["Deprecation"] = fmt.Sprintf("^@%d$", date(o, "x-deprecated-at").Unix())
		header["Sunset"] = "^" + date(o, "x-sunset").Format(http.TimeFormat) + "$"
		if links := strings.Join(got.Header.Values("Link"), ", "); s.docs != deprecation.MatchString(links) {
			got.errorf(t, "Link: got %q, want one with rel=\"deprecation\" if there is a page at /docs", links)
		}
	}
	maps.Copy(header, statusHeaders[got.StatusCode])
	got.checkHeader(t, header)

	if hasBody && got.StatusCode >= 400 {
		s.checkError(t, got)
	}
	if o := route.Operation; o != nil {
		s.seen[fmt.Sprintf("%s %d", o.OperationID, got.StatusCode)] = true
		request := &http.Request{Method: http.MethodGet, URL: &url.URL{}} // kin-openapi does not look at answers to HEAD
		err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
			Status:                 got.StatusCode,
			Header:                 got.Header,
			Body:                   io.NopCloser(strings.NewReader(got.body)),
			Options:                &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: !hasBody},
		})
		if err != nil {
			what, _, _ := strings.Cut(err.Error(), "\nSchema:")
			got.errorf(t, "got %.200s, want what openapi.yaml has for %s: %s", got.body, o.OperationID, what)
		}
	}
}

// checkHeader compares the header with regular expressions by name, "" for absent.
func (got response) checkHeader(t *testing.T, want map[string]string) {
	for name, pattern := range want {
		values := got.Header.Values(name)
		switch {
		case pattern == "" && len(values) > 0:
			got.errorf(t, "%s: got %q, want none", name, values)
		case pattern != "" && (len(values) != 1 || !regexp.MustCompile(pattern).MatchString(values[0])):
			got.errorf(t, "%s: got %q, want one that matches %s", name, values, pattern)
		}
	}
}

// leak matches traces of the implementation in a message to a client.
var leak = regexp.MustCompile(`json:|jsontext|strconv|nmarshal|invalid character|[Ss]chema|openapi|echo|code=|internal=|0x|goroutine|\.go\b|` +
	`(?i:\bsql|select |insert )|constraint|\bnil\b|panic|\bEOF\b|\btcp\b|/tmp|/home|/root|struct|float64|%!|map\[|context |` + service.Name + `\.|` + keys.Pattern.String())

// checkError checks the body of an error response.
func (s *suite) checkError(t *testing.T, got response) {
	value := decode(got.body)
	if err := s.document.Components.Schemas["Error"].Value.VisitJSON(value); err != nil {
		got.errorf(t, "body: got %.200q (%v), want an Error", got.body, err)
		return
	}
	e, status := value.(map[string]any), strconv.Itoa(got.StatusCode)
	if fmt.Sprint(e["status"]) != status {
		got.errorf(t, "status in the body: got %v, want %s", e["status"], status)
	}
	if code := e["code"].(string); !slices.Contains(s.codes[status], code) {
		got.errorf(t, "code: got %q, want one of %q", code, s.codes[status])
	}
	if m := e["message"].(string); m == "" || len(m) > 300 || strings.ContainsAny(m, "\n\r\t") || leak.MatchString(m) {
		got.errorf(t, "message: got %q, want one plain sentence with nothing internal such as %q", m, leak.FindString(m))
	}
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// route returns the operation of a request, HEAD being GET. It has no Operation if the
// document has none. An encoded slash is not a separator.
func (s *suite) route(target, method string) *routers.Route {
	decoded, _ := url.PathUnescape(strings.ReplaceAll(target, "%2F", "x"))
	route := &routers.Route{Spec: s.document, Method: strings.Replace(method, http.MethodHead, http.MethodGet, 1)}
	for template, item := range s.document.Paths.Map() {
		if found, _ := path.Match(s.base+parameter.ReplaceAllString(template, "?*"), decoded); found {
			route.Path, route.PathItem, route.Operation = template, item, item.Operations()[route.Method]
		}
	}
	return route
}

// date returns the date in an extension of an operation.
func date(o *openapi3.Operation, extension string) time.Time {
	text, _ := o.Extensions[extension].(string)
	at, _ := time.Parse(time.DateOnly, text) // the zero time if it is missing or invalid
	return at
}
