package contract

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// check reports what is wrong with a response, whatever the request was, and returns it.
func (s *Suite) check(t *testing.T, got Response) Response {
	if got.err != nil {
		s.fatal(t, "%.150q: got no response, or not all of it (%v)", got.sent.Send, got.err)
	}
	hasBody := got.Request.Method != http.MethodHead && got.StatusCode != 204 && got.StatusCode != 304
	got.Assert(t, hasBody || got.Body == "", "body: got %.100q, want none", got.Body)
	if id := got.Header.Get("X-Request-Id"); !strings.Contains(got.sent.Send, "X-Request-Id") {
		got.Assert(t, !s.seen[id], "X-Request-Id: got %s twice, want another", id)
		s.seen[id] = true
	}
	header := []string{"X-Request-Id: [A-Za-z0-9._-]{1,64}", "X-Content-Type-Options: nosniff", map[int]string{
		http.StatusUnauthorized:       s.noCredentials() + `(, error="invalid_token"(, error_description="[A-Za-z ]+")?)?`,
		http.StatusForbidden:          s.noCredentials() + `, error="insufficient_scope"`,
		http.StatusTooManyRequests:    "Retry-After: [0-9]+",
		http.StatusServiceUnavailable: "Retry-After: [0-9]+",
	}[got.StatusCode]}
	if strings.HasPrefix(got.path+"/", s.base+"/") {
		header = append(header, "Cache-Control: no-store")
	}
	if got.Header["Etag"] != nil {
		header = append(header, `ETag: (W/)?"[^"]*"`)
	}
	if hasBody && (got.StatusCode >= 400 || got.content()["application/json"] != nil) {
		header = append(header, "Content-Type: application/json") // and no parameters
	}
	if got.route != nil && got.route.Operation.Deprecated {
		o := got.route.Operation
		header = append(header, fmt.Sprintf("Deprecation: @%d", date(o, "x-deprecated-at").Unix()),
			"Sunset: "+date(o, "x-sunset").Format(http.TimeFormat))
		got.Assert(t, time.Now().Before(date(o, "x-sunset")), "got a response after the x-sunset, want none in the document")
	} else {
		header = append(header, "Deprecation:", "Sunset:")
	}
	got.CheckHeader(t, strings.Join(header, "\n"))
	base, _ := url.Parse(s.URL)
	for _, link := range linked.FindAllStringSubmatch("<"+got.Header.Get("Location")+">"+got.Header.Get("Link"), -1) {
		u, err := base.Parse(link[1])
		ok := err == nil && u.Scheme == base.Scheme && u.Host == base.Host
		got.Assert(t, ok, "got the link %s, want a relative one, or one to %s", link[1], base.Host)
	}
	if hasBody && got.StatusCode >= 400 {
		s.checkError(t, got)
	}
	if got.route != nil {
		s.checkDocumented(t, got, hasBody)
	}
	return got
}

var linked = regexp.MustCompile(`<([^<>]*)>`)

func init() { openapi3filter.RegisterBodyDecoder("*/*", openapi3filter.PlainBodyDecoder) } // if there is no other

// checkDocumented checks a response of an operation against the document, and records it for coverage.
func (s *Suite) checkDocumented(t *testing.T, got Response, hasBody bool) {
	o := got.route.Operation
	documented := o.Responses.Status(got.StatusCode)                  // not the default
	request := &http.Request{Method: http.MethodGet, URL: &url.URL{}} // kin-openapi does not look at answers to HEAD
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: got.route},
		Status:                 got.StatusCode,
		Header:                 got.Header,
		Body:                   io.NopCloser(strings.NewReader(got.Body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: !hasBody},
	})
	what, _, _ := strings.Cut(fmt.Sprint(err), "\nSchema:")
	if documented == nil {
		what = "no such status"
	}
	got.Assert(t, err == nil && documented != nil, "got %.200s, want what the document has for %s: %s", got.Body, o.OperationID, what)
	local := time.Now().Format(`-07:00"`)
	got.Assert(t, local == `+00:00"` || !strings.Contains(got.Body, local), "got %.200s, with a local time", got.Body)
	s.record(t, got)
}

// CheckHeader compares the header with lines of regular expressions; without one, there must be none.
func (got Response) CheckHeader(t *testing.T, lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		name, pattern, _ := strings.Cut(line, ":")
		pattern = strings.TrimSpace(pattern)
		values := got.Header.Values(name)
		ok := len(values) == 0
		if pattern != "" {
			ok = len(values) == 1 && regexp.MustCompile("^(?:"+pattern+")$").MatchString(values[0])
		}
		got.Assert(t, ok, name+": got %q, want the pattern %q, which is empty for none", strings.Join(values, ", "), pattern)
	}
}

// leak matches traces of the implementation in a message to a client.
var leak = regexp.MustCompile(`json:|jsontext|strconv|nmarshal|invalid character|[Ss]chema|openapi|echo|code=|internal=|0x|goroutine|\.go\b|` +
	`(?i:\bsql|select |insert )|constraint|\bnil\b|panic|\bEOF\b|\btcp\b|/tmp|/home|/root|struct|float64|%!|map\[|context `)

// checkError checks the body of an error response.
func (s *Suite) checkError(t *testing.T, got Response) {
	e, _ := got.value.(object)
	code, m, status := fmt.Sprint(e["code"]), fmt.Sprint(e["message"]), fmt.Sprint(got.StatusCode)
	pages := s.Document.Info.Description // which may have tables of codes, as may the tags
	for _, tag := range s.Document.Tags {
		pages += tag.Description
	}
	documented := !strings.Contains(pages, "` |") || strings.Contains(pages, "| "+status+" `"+code+"` |")
	schema := s.Document.Components.Schemas["Error"]
	got.Assert(t, schema == nil || schema.Value.VisitJSON(got.value) == nil, "body: got %.200q, want an Error", got.Body)
	got.Assert(t, fmt.Sprint(e["status"]) == status, "status in the body: got %v, want %s", e["status"], status)
	got.Assert(t, documented, "code: got %q, want one that the document has for this status", code)
	got.Assert(t, m != "" && len(m) <= 600 && !strings.ContainsAny(m, "\n\r\t") && !leak.MatchString(m) && (s.Leaks == nil || !s.Leaks.MatchString(m)),
		"message: got %q, want one plain sentence with nothing internal such as %q", m, leak.FindString(m))
}

// route returns the operation of a request, HEAD being GET, and the identifiers in its path; nil if there is none.
func (s *Suite) route(c Case) (*routers.Route, map[string]string) {
	method, path, _ := c.target()
	method = strings.Replace(method, http.MethodHead, http.MethodGet, 1)
	for _, r := range s.operations {
		if ids, found := identifiers(r, path); found && r.Method == method {
			return r, ids
		}
	}
	return nil, nil
}

// identifiers returns the parameters in a path of the operation. An encoded slash is not a separator.
func identifiers(r *routers.Route, path string) (ids map[string]string, found bool) {
	names, parts := strings.Split(r.Path, "/"), strings.Split(path, "/")
	if len(names) != len(parts) {
		return nil, false
	}
	ids = map[string]string{}
	for i, name := range names {
		part, _ := url.PathUnescape(parts[i])
		if strings.HasPrefix(name, "{") && part != "" {
			ids[strings.Trim(name, "{}")] = part
		} else if part != name {
			return nil, false
		}
	}
	return ids, true
}

// date returns the date in an extension of an operation.
func date(o *openapi3.Operation, extension string) time.Time {
	text, _ := o.Extensions[extension].(string)
	at, _ := time.Parse(time.DateOnly, text) // the zero time if it is missing or invalid
	return at
}

// Assert reports what is wrong with the response, unless ok.
func (got Response) Assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	args = append([]any{got.sent.Send, got.sent.Body, got.StatusCode}, args...)
	got.suite.Assert(t, ok, "%.150q %.80q: %d: "+format, args...)
}

// promise reports what is wrong with the response of an operation, unless ok or unpromised.
func (got Response) promise(t *testing.T, check string, ok bool, format string, args ...any) {
	name := got.route.Operation.OperationID + " " + check
	got.Assert(t, ok || got.suite.exempt(name), name+": "+format, args...)
}

// exempt reports whether something is unpromised, and notes that it had to be.
func (s *Suite) exempt(name string) bool {
	s.seen[name+" exempt"] = true
	return s.Unpromised[name] != ""
}

// fatal reports a failure and ends the test.
func (s *Suite) fatal(t *testing.T, format string, args ...any) {
	s.Assert(t, false, format, args...)
	t.FailNow()
}

// Assert reports a failure in one line, unless ok, but at most three of a kind. The line has no key, not even a
// part of one that is cut.
func (s *Suite) Assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if ok {
		return
	}
	s.failures[format]++
	switch s.failures[format] {
	case 1, 2:
	case 3:
		format += " (more failures of this kind are not shown)"
	default:
		t.Fail()
		return
	}
	var keys []string
	for _, key := range []string{s.Key, s.OtherKey, s.ReadOnlyKey, s.ExpiredKey, s.RevokedKey, s.UnknownKey} {
		if key != "" {
			keys = append(keys, key, "KEY", url.QueryEscape(key), "KEY")
		}
	}
	hide := strings.NewReplacer(keys...)
	for i, arg := range args {
		switch arg.(type) {
		case string, error, []string, []any, object:
			args[i] = hide.Replace(fmt.Sprint(arg))
		}
	}
	t.Error(strings.ReplaceAll(hide.Replace(fmt.Sprintf(format, args...)), "\n", `\n`))
}

// difference returns the first bytes that two texts have otherwise, with some before them.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	start := max(0, i-20)
	return fmt.Sprintf("got %.80q at byte %d, want %.80q", got[start:], start, want[start:])
}
