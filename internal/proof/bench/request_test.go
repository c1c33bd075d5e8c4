// Package bench measures this service in process beside its peers, with
// `go test -bench . ./internal/proof/bench`, and pins how much a request allocates.
// internal/proof/bench/loopback measures the same over the network.
package bench

import (
	"net/http"
	"strings"

	"example.com/petstore/internal/proof/bench/peers"
)

// Operation is a request that every server responds to alike.
type Operation struct {
	Name, Method, Target, Body string
	Status                     int
}

// Operations returns the requests that are measured.
func Operations() []Operation {
	return []Operation{
		{Name: "list", Method: http.MethodGet, Target: "/v1/pets?limit=20", Status: http.StatusOK},
		{Name: "filtered", Method: http.MethodGet, Target: "/v1/pets?limit=20&status=sold", Status: http.StatusOK},
		{Name: "get", Method: http.MethodGet, Target: "/v1/pets/7", Status: http.StatusOK},
		{Name: "create", Method: http.MethodPost, Target: "/v1/pets", Body: `{"name":"Frank","categoryId":1,"status":"pending"}`, Status: http.StatusCreated},
	}
}

// request is one request that can be sent again and again.
type request struct {
	*http.Request
	text string
	body strings.Reader
}

func newRequest(op Operation) (*request, error) {
	r, err := http.NewRequest(op.Method, op.Target, nil)
	if err != nil {
		return nil, err
	}
	r.RequestURI = op.Target
	r.Header.Set("Authorization", "Bearer "+peers.Key)
	r.Body = http.NoBody
	q := &request{Request: r, text: op.Body}
	if op.Body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = int64(len(op.Body))
		r.Body = q
	}
	return q, nil
}

// Read and Close make the request its own body.
func (q *request) Read(p []byte) (int, error) { return q.body.Read(p) }

// Close does nothing.
func (q *request) Close() error { return nil }

// send has h respond to the request, into a response that is used again.
func (q *request) send(h http.Handler, resp *response) {
	clear(resp.header)
	resp.status, resp.size = 0, 0
	q.body.Reset(q.text)
	if q.text != "" {
		q.Request.Body = q // in place of what a body limit may have put around it
	}
	h.ServeHTTP(resp, q.Request)
}

// response counts the bytes written to it, as net/http would send it.
type response struct {
	header       http.Header
	status, size int
}

func (resp *response) Header() http.Header    { return resp.header }
func (resp *response) WriteHeader(status int) { resp.status = status }
func (resp *response) Write(b []byte) (int, error) {
	resp.size += len(b)
	return len(b), nil
}
