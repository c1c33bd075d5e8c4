package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/contract"
)

// The rules that a schema cannot state.

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// everyResponse checks the headers that no response goes without.
func everyResponse(r *http.Request, response *http.Response) (errs []error) {
	id := response.Header.Get("X-Request-Id")
	if !requestIDPattern.MatchString(id) {
		errs = append(errs, fmt.Errorf("X-Request-Id: got %q, want 1 to 64 of A-Z a-z 0-9 . _ -", id))
	}
	if own := r.Header.Values("X-Request-Id"); len(own) == 1 && requestIDPattern.MatchString(own[0]) && own[0] != id {
		errs = append(errs, fmt.Errorf("X-Request-Id: got %q, want the client's own %q", id, own[0]))
	}
	if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		errs = append(errs, fmt.Errorf("X-Content-Type-Options: got %q, want nosniff", got))
	}
	if got := response.Header.Get("Cache-Control"); strings.HasPrefix(r.URL.Path, contract.BasePath+"/") && got != "no-store" {
		errs = append(errs, fmt.Errorf("Cache-Control below %s: got %q, want no-store", contract.BasePath, got))
	}
	return errs
}

// statusHeaders checks the headers that a status brings with it.
func statusHeaders(r *http.Request, response *http.Response) (errs []error) {
	must := func(name, pattern string) {
		if values := response.Header.Values(name); len(values) != 1 || !regexp.MustCompile(pattern).MatchString(values[0]) {
			errs = append(errs, fmt.Errorf("%s of %d: got %q, want one that matches %s", name, response.StatusCode, values, pattern))
		}
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		must("WWW-Authenticate", `^Bearer realm="petstore"(, error="invalid_token"(, error_description="the API key [a-z ]+")?)?$`)
	case http.StatusForbidden:
		must("WWW-Authenticate", `^Bearer realm="petstore", error="insufficient_scope"$`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		must("Retry-After", `^[0-9]+$`)
	case http.StatusUnsupportedMediaType:
		if response.Header.Get("Accept") == "" {
			must("Accept-Encoding", `^identity$`)
		} else {
			must("Accept", `^application/json$`)
		}
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
		hasBody := r.ContentLength != 0 || (r.Body != nil && r.Body != http.NoBody)
		if closes := response.Close || response.Header.Get("Connection") == "close"; hasBody && !closes {
			errs = append(errs, fmt.Errorf("connection after a %d that left a body unread: got kept, want closed", response.StatusCode))
		}
	}
	return errs
}

// errorBody checks the Error body of any response that has one, documented or not.
func (j *Judge) errorBody(response *http.Response, body []byte) []error {
	errs := wantJSON(response)
	var got struct {
		Code, Message *string
		Status        *int
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.Code == nil || got.Message == nil || got.Status == nil {
		return append(errs, fmt.Errorf("the body: got %q, want an Error with code, message and status (%v)", body, err))
	}
	if _, err := d.Token(); err != io.EOF {
		errs = append(errs, fmt.Errorf("the body: got %q, want nothing after the Error", body))
	}
	if *got.Status != response.StatusCode {
		errs = append(errs, fmt.Errorf("status of the Error: got %d, want the HTTP status %d", *got.Status, response.StatusCode))
	}
	if !slices.Contains(j.codes[response.StatusCode], *got.Code) {
		errs = append(errs, fmt.Errorf("code of a %d: got %q, want one of the document's %q", response.StatusCode, *got.Code, j.codes[response.StatusCode]))
	}
	return append(errs, sentence(*got.Message)...)
}

// leaks are traces of the code inside, which no client may see: Go, its libraries,
// SQL, files, schemas.
var leaks = []string{
	"json:", "jsontext", "strconv", "nmarshal", "parsing", "invalid syntax", "syntax error", "invalid character",
	"schema", "Schema", "openapi", "kin-", "echo", "labstack", "code=", "internal=", "0x", "goroutine", "runtime",
	".go", "sql", "SQL", "SELECT", "INSERT", "constraint", "nil", "panic", "EOF", "dial ", "tcp", "/tmp", "/home", "/root",
	"interface", "struct", "int64", "float64", "%!", "map[", "context ", "deadline", "petstore.", "error:", "psk_",
}

// sentence checks a message for the client's developer.
func sentence(message string) (errs []error) {
	if message == "" || len(message) > 300 || strings.ContainsAny(message, "\n\r\t") {
		errs = append(errs, fmt.Errorf("message: got %q, want one plain sentence", message))
	}
	for _, leak := range leaks {
		if strings.Contains(message, leak) {
			errs = append(errs, fmt.Errorf("message: got %q, want nothing of the inside such as %q", message, leak))
		}
	}
	return errs
}

// universal are the headers of any HTTP response, which no document lists.
var universal = []string{"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "X-Content-Type-Options"}

func onlyDocumentedHeaders(documentation *openapi3.Response, response *http.Response) (errs []error) {
	for name := range response.Header {
		documented := slices.Contains(universal, name) || isCORS(name, response)
		for d := range documentation.Headers {
			documented = documented || http.CanonicalHeaderKey(d) == name
		}
		if !documented {
			errs = append(errs, fmt.Errorf("the header %s, which the document does not have for %d", name, response.StatusCode))
		}
	}
	return errs
}

// isCORS reports whether the header opens a sandbox to the scripts of a browser. Such
// headers come with the deployment, not with the operations.
func isCORS(name string, response *http.Response) bool {
	return response.Header.Get("Vary") == "Origin" && (name == "Vary" || strings.HasPrefix(name, "Access-Control-"))
}

// isPreflight reports whether the response is one to a preflight, which is the
// same at every path.
func isPreflight(r *http.Request, response *http.Response) bool {
	return r.Method == http.MethodOptions && response.Header.Get("Access-Control-Allow-Methods") != ""
}

// deprecation checks that a deprecated operation says so in every response, and
// where it is explained, and that no other does (RFC 9745, RFC 8594).
func deprecation(o *openapi3.Operation, response *http.Response) (errs []error) {
	var wantDeprecation, wantSunset string
	if o.Deprecated {
		at, err := contract.Date(o, "x-deprecated-at")
		if err != nil {
			return []error{err}
		}
		sunset, err := contract.Date(o, "x-sunset")
		if err != nil {
			return []error{err}
		}
		wantDeprecation, wantSunset = "@"+strconv.FormatInt(at.Unix(), 10), sunset.Format(http.TimeFormat)
	}
	if got := response.Header.Get("Deprecation"); got != wantDeprecation {
		errs = append(errs, fmt.Errorf("header Deprecation of %s: got %q, want %q", o.OperationID, got, wantDeprecation))
	}
	if got := response.Header.Get("Sunset"); got != wantSunset {
		errs = append(errs, fmt.Errorf("header Sunset of %s: got %q, want %q", o.OperationID, got, wantSunset))
	}
	return append(errs, deprecationLink(o, response)...)
}

// deprecationLink checks the link to where the documentation page explains the
// deprecation (RFC 9745, section 3).
func deprecationLink(o *openapi3.Operation, response *http.Response) []error {
	got := strings.Join(response.Header.Values("Link"), ", ")
	if !o.Deprecated {
		if strings.Contains(got, "deprecation") {
			return []error{fmt.Errorf("header Link of %s: got %q, want no deprecation in it", o.OperationID, got)}
		}
		return nil
	}
	place := docsPath + "#/" + o.Tags[0] + "/" + o.OperationID
	if !regexp.MustCompile(`^<[^<>]*` + regexp.QuoteMeta(place) + `>; rel="deprecation"; type="text/html"$`).MatchString(got) {
		return []error{fmt.Errorf("header Link of %s: got %q, want one to %s with rel=\"deprecation\"", o.OperationID, got, place)}
	}
	return nil
}

// location checks that a 201 names the place of the new animal.
func location(response *http.Response, body []byte) []error {
	var created struct{ ID int64 }
	if err := json.Unmarshal(body, &created); err != nil {
		return []error{err}
	}
	got, want := response.Header.Get("Location"), fmt.Sprintf("%s/pets/%d", contract.BasePath, created.ID)
	if !strings.HasSuffix(got, want) {
		return []error{fmt.Errorf("header Location: got %q, want it to end in %s", got, want)}
	}
	return nil
}

// allow checks that the response lists exactly the methods of the path.
func allow(response *http.Response, item *openapi3.PathItem) []error {
	wants := []string{http.MethodOptions}
	for method := range item.Operations() {
		wants = append(wants, method)
		if method == http.MethodGet {
			wants = append(wants, http.MethodHead)
		}
	}
	gots := strings.Split(strings.ReplaceAll(response.Header.Get("Allow"), " ", ""), ",")
	slices.Sort(wants)
	slices.Sort(gots)
	if !slices.Equal(gots, wants) {
		return []error{fmt.Errorf("header Allow: got %q, want %q", gots, wants)}
	}
	return nil
}

// beside are the paths the service has outside the contract, all of them GET.
var beside = []string{
	"/livez", "/readyz", "/openapi.yaml", "/openapi.json",
	docsPath, docsPath + "/", docsPath + "/LICENSES.txt",
}

// asset finds the files of the page, whose names change with their content.
var asset = regexp.MustCompile(`^` + docsPath + `/[a-z]+-[0-9a-f]{12}\.[a-z]+$`)

// besideTheDocument judges responses at paths the document does not have.
func besideTheDocument(r *http.Request, response *http.Response) []error {
	if r.Method == http.MethodOptions && r.RequestURI == "*" { // RFC 9110, section 9.3.7
		return want(response, http.StatusNoContent)
	}
	if browser := strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/html"); browser && r.URL.Path == "/" && response.StatusCode == http.StatusFound {
		return nil // which is led to the documentation
	}
	path := decodedSegments(r.URL)
	if !slices.Contains(beside, path) && !(asset.MatchString(path) && response.StatusCode != http.StatusNotFound) {
		return want(response, http.StatusNotFound)
	}
	get := &openapi3.PathItem{Get: &openapi3.Operation{}}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return want(response, http.StatusOK, http.StatusNotModified, http.StatusServiceUnavailable)
	case http.MethodOptions:
		return append(want(response, http.StatusNoContent), allow(response, get)...)
	default:
		return append(want(response, http.StatusMethodNotAllowed), allow(response, get)...)
	}
}

func want(response *http.Response, statuses ...int) []error {
	if slices.Contains(statuses, response.StatusCode) {
		return nil
	}
	return []error{fmt.Errorf("the status: got %d, want one of %v", response.StatusCode, statuses)}
}

func wantJSON(response *http.Response) []error {
	if got := response.Header.Get("Content-Type"); got != "application/json" {
		return []error{fmt.Errorf("Content-Type: got %q, want application/json", got)}
	}
	return nil
}
