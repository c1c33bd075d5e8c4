// Package contracttest holds responses against openapi.yaml. The tests pass every
// response to a Judge, whatever the request was. The package knows the document but
// nothing of the code behind it.
package contracttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/gen"
	"example.com/petstore/internal/proof/contract"
)

// docsPath is where people read the document.
const docsPath = "/docs"

// Judge holds responses against the document and remembers the statuses and headers
// it has seen. It is safe for concurrent use.
type Judge struct {
	document *openapi3.T
	codes    map[int][]string // the codes of the Error body, by status
	visits   visits
}

// NewJudge returns a judge of the document the service is built from.
func NewJudge(t testing.TB) *Judge {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		t.Fatalf("openapi.yaml does not load: %v", err)
	}
	return &Judge{document: document, codes: contract.Codes(document)}
}

// Do sends r, judges the response and returns it with its body.
func (j *Judge) Do(t testing.TB, client *http.Client, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: the response breaks off: %v", r.Method, r.URL, err)
	}
	if err := j.Check(r, response, body); err != nil {
		t.Errorf("%s %s: got %d %s\n%v", r.Method, r.URL, response.StatusCode, body, err)
	}
	return response, body
}

// Check returns all that is wrong with a response to r, whose body has been read.
func (j *Judge) Check(r *http.Request, response *http.Response, body []byte) error {
	errs := everyResponse(r, response)
	errs = append(errs, statusHeaders(r, response)...)
	switch {
	case r.Method == http.MethodHead, response.StatusCode == http.StatusNoContent, response.StatusCode == http.StatusNotModified:
		if len(body) > 0 {
			errs = append(errs, fmt.Errorf("the body: got %q, want none", body))
		}
	case response.StatusCode >= 400:
		errs = append(errs, j.errorBody(response, body)...)
	}
	if r.Method == http.MethodHead && response.StatusCode >= 400 {
		errs = append(errs, wantJSON(response)...)
	}

	path, item, params := j.find(r.URL)
	switch {
	case isPreflight(r, response):
		errs = append(errs, want(response, http.StatusNoContent)...)
	case item == nil:
		errs = append(errs, besideTheDocument(r, response)...)
	case r.Method == http.MethodOptions:
		errs = append(errs, want(response, http.StatusNoContent)...)
		errs = append(errs, allow(response, item)...)
	case operationOf(item, r.Method) == nil:
		errs = append(errs, want(response, http.StatusMethodNotAllowed)...)
		errs = append(errs, allow(response, item)...)
	default:
		route := &routers.Route{Spec: j.document, Path: path, PathItem: item, Method: r.Method, Operation: operationOf(item, r.Method)}
		errs = append(errs, j.operation(route, params, r, response, body)...)
	}
	return errors.Join(errs...)
}

// operation judges the response of a documented operation.
func (j *Judge) operation(route *routers.Route, params map[string]string, r *http.Request, response *http.Response, body []byte) []error {
	documented := route.Operation.Responses.Status(response.StatusCode)
	if documented == nil {
		return []error{fmt.Errorf("the status: got %d, which the document does not have for %s", response.StatusCode, route.Operation.OperationID)}
	}
	j.visits.add(route.Operation.OperationID, response)

	// The validator skips HEAD altogether: show it the same request as a GET.
	request := r.Clone(context.Background())
	if r.Method == http.MethodHead {
		request.Method = http.MethodGet
	}
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: route},
		Status:                 response.StatusCode,
		Header:                 response.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   r.Method == http.MethodHead,
			MultiError:            true,
		},
	})
	errs := append([]error{err}, onlyDocumentedHeaders(documented.Value, response)...)
	errs = append(errs, deprecation(route.Operation, response)...)
	if response.StatusCode < 300 {
		errs = append(errs, wantJSON(response)...)
	}
	if response.StatusCode == http.StatusCreated {
		errs = append(errs, location(response, body)...)
	}
	return errs
}

// find returns the path item of the document that u names, or nil. Segments are
// compared decoded, one by one, so an encoded slash separates nothing.
func (j *Judge) find(u *url.URL) (path string, item *openapi3.PathItem, params map[string]string) {
	rest, below := strings.CutPrefix(decodedSegments(u), contract.BasePath+"/")
	if !below {
		return "", nil, nil
	}
	for path, item := range j.document.Paths.Map() {
		if params, ok := matchPath(strings.TrimPrefix(path, "/"), rest); ok {
			return path, item, params
		}
	}
	return "", nil, nil
}

// decodedSegments returns u's path with its percent-encoding resolved, except
// for the slashes that were encoded.
func decodedSegments(u *url.URL) string {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = strings.ReplaceAll(decoded, "/", "%2F")
		}
	}
	return strings.Join(segments, "/")
}

func matchPath(template, path string) (params map[string]string, ok bool) {
	wants, gots := strings.Split(template, "/"), strings.Split(path, "/")
	if len(wants) != len(gots) {
		return nil, false
	}
	params = map[string]string{}
	for i, w := range wants {
		switch {
		case strings.HasPrefix(w, "{") && gots[i] != "":
			params[strings.Trim(w, "{}")] = gots[i]
		case w != gots[i]:
			return nil, false
		}
	}
	return params, true
}

// operationOf returns the operation of a method: HEAD is GET's.
func operationOf(item *openapi3.PathItem, method string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return item.Operations()[method]
}
