package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
)

// What a transport does instead of answering with a status.
const (
	lost     = iota // loses the request
	cut             // loses the connection in the middle of the response
	hangs           // does not answer
	canceled        // answers 503, and the caller goes away while the client waits
)

// transport answers requests with these statuses, each with a Retry-After, and then with 200.
type transport struct {
	statuses []int
	after    string
	cancel   context.CancelFunc
	seen     []string // the Idempotency-Key and the body of each request
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	tr.seen = append(tr.seen, r.Header.Get("Idempotency-Key")+" "+string(sent))
	status, body := http.StatusOK, io.Reader(strings.NewReader("{}"))
	if n := len(tr.seen); n <= len(tr.statuses) {
		status = tr.statuses[n-1]
	}
	switch status {
	case lost:
		return nil, errors.New("lost")
	case cut:
		status, body = http.StatusOK, iotest.ErrReader(io.ErrUnexpectedEOF)
	case hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case canceled:
		status = http.StatusServiceUnavailable
		time.AfterFunc(time.Millisecond, tr.cancel)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {tr.after}}, Body: io.NopCloser(body)}, err
}

type retryTest struct {
	request, key string
	answers      []int
	after        string
	deadline     time.Duration // none if 0
	want         string        // a regular expression for the status or the error
	requests     int           // how many are sent
	wait         time.Duration // how long they take; up to half as long again at random
}

func TestRetries(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	const failed = `"http://petstore.example/v1/pets": `
	tests := []retryTest{
		{"GET /pets", "", []int{408, 429, 500}, "7", 0, "200", 4, 21 * s},
		{"GET /pets", "", []int{503}, "Sat, 01 Jan 2000 00:00:09 GMT", 0, "200", 2, 9 * s},
		{"GET /pets", "", []int{503, 503}, "Fri, 31 Dec 1999 00:00:00 GMT", 0, "200", 3, 300 * ms},
		{"GET /pets", "", []int{503}, "61", 0, "503", 1, 0},
		{"GET /pets", "", []int{503, 503, 503, 503}, "0", 0, "503", 4, 700 * ms},
		{"GET /pets", "", []int{lost, cut, 503}, "", 0, "200", 4, 700 * ms},
		{"GET /pets", "", []int{cut, cut, cut, cut}, "", 0, failed + "unexpected EOF$", 4, 700 * ms},
		{"GET /pets", "", []int{429}, "30", 3 * s, "429", 1, 0},  // a wait past the deadline
		{"GET /pets", "", []int{hangs}, "", 0, "200", 2, 10 * s}, // until the client's timeout
		{"GET /pets", "", []int{hangs}, "", 5 * s, failed + "context deadline exceeded$", 1, 5 * s},
		{"GET /pets", "", []int{503, hangs}, "1", 5 * s, failed + "context deadline exceeded; before that: 503", 2, 5 * s},
		{"GET /pets", "", []int{lost, hangs}, "", 5 * s, failed + "context deadline exceeded; before that: .*" + failed + "lost", 2, 5 * s},
		{"GET /pets", "", []int{500, canceled}, "1", 0, failed + "context canceled; before that: 503", 2, s},
		{"PUT /pets", "", []int{500}, "1", 0, "200", 2, s},
		{"PUT /pets", "stream", []int{500}, "1", 0, "500", 1, 0}, // its body cannot be sent again
		{"PATCH /pets", "k1", []int{500}, "1", 0, "500", 1, 0},
		{"POST /pets", "k1", []int{500}, "1", 0, "200", 2, s},
		{"POST /pets", "", []int{lost, 503}, "1", 0, "200", 3, 1100 * ms},
		{"POST /pets", "", []int{400}, "1", 0, "400", 1, 0},
		{"POST /pets/1/sales", "k1", []int{500}, "1", 0, "500", 1, 0}, // takes no such key
	}
	for path, item := range example.Document().Paths.Map() {
		if item.Post == nil {
			continue
		}
		test := retryTest{"POST " + path, "", []int{500}, "1", 0, "500", 1, 0}
		if item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
			test.want, test.requests, test.wait = "200", 2, s
		}
		tests = append(tests, test)
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.request, test.key, test.answers, test.after), func(t *testing.T) {
			synctest.Test(t, test.run)
		})
	}
}

func (test retryTest) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.deadline, time.Hour))
	defer cancel()
	tr := &transport{statuses: test.answers, after: test.after, cancel: cancel}
	h := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	c, err := client.NewClient("", client.WithRetries(3), client.WithHTTPClient(h))
	if err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(test.request, " ")
	r, _ := http.NewRequestWithContext(ctx, method, "http://petstore.example/v1"+path, strings.NewReader("body"))
	if test.key != "" {
		r.Header.Set("Idempotency-Key", test.key)
	}
	if test.key == "stream" {
		r.GetBody = nil
	}
	start := time.Now()
	_ = c.RequestEditors[0](ctx, r) // what a generated method does
	response, err := c.Client.Do(r)
	took, got := time.Since(start), fmt.Sprint(err)
	if err == nil {
		got = fmt.Sprint(response.StatusCode)
	}
	least := test.wait
	if test.requests > 1 && test.deadline == 0 {
		least++ // no client waits exactly as long as others
	}
	onTime := took >= least && took <= test.wait*3/2+time.Millisecond // in which canceled cancels
	if !regexp.MustCompile(test.want).MatchString(got) || len(tr.seen) != test.requests || !onTime {
		t.Errorf("got %s after %d requests in %v, want %s after %d in %v", got, len(tr.seen), took, test.want, test.requests, test.wait)
	}
	e, ok := errors.AsType[*client.ResponseError](err)
	if ok != strings.Contains(test.want, ": 503") || ok && e.RetryAfter != time.Second {
		t.Errorf("got %#v, want the last response in it", err)
	}
	key, body, _ := strings.Cut(tr.seen[0], " ")
	if len(slices.Compact(tr.seen)) != 1 || body != "body" || test.key != "" && key != test.key ||
		method == http.MethodPost && test.requests > 1 && key == "" {
		t.Errorf("got the keys and bodies %q, want the same each time", tr.seen)
	}
}
