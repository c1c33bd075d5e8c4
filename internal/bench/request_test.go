// Package bench measures this service in process beside its peers, with
// `go test -bench . ./internal/bench`, and pins how much a request allocates.
// internal/bench/loopback measures the same over the network.
package bench

import (
	"net/http"
	"strings"
)

// Key opens the service under measurement. It opens nothing else.
const Key = "in-process-measuring-key"

// Operation is a request that every server answers alike.
type Operation struct {
	Name, Method, Target, Body string
	Status                     int
}

// Operations returns what is measured.
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
	r.Header.Set("Authorization", "Bearer "+Key)
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

// send has h answer the request into an answer that is reused.
func (q *request) send(h http.Handler, a *answer) {
	clear(a.header)
	a.status, a.size = 0, 0
	q.body.Reset(q.text)
	h.ServeHTTP(a, q.Request)
}

// answer counts what is written to it, as net/http would send it.
type answer struct {
	header       http.Header
	status, size int
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }
func (a *answer) Write(b []byte) (int, error) {
	a.size += len(b)
	return len(b), nil
}
