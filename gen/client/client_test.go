package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
)

// TestKey tests that the key can be sent, and is not sent to another address, such as one
// without TLS, unless the CheckRedirect of an HTTP client allows it.
func TestKey(t *testing.T) {
	s := httptest.NewTLSServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer s.Close()
	refuse := func(*http.Request, []*http.Request) error { return errors.New("refused") }
	deciding := &http.Client{Transport: s.Client().Transport, CheckRedirect: refuse}
	for want, options := range map[string][]client.ClientOption{
		`307 "got `:               {client.WithKey(program.Key), client.WithHTTPClient(s.Client())},
		"refused":                 {client.WithKey(program.Key), client.WithHTTPClient(deciding)},
		"is empty":                {client.WithKey("")},
		"or contains white space": {client.WithKey(program.Key + "\n")},
	} {
		c, err := client.NewClientWithResponses(s.URL, options...)
		if err == nil {
			_, err = ids(client.All(t.Context(), c, nil))
		}
		assert.ErrorContains(t, err, want)
	}
}

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

// TestRetriesSpread tests that clients that are rejected together spread out.
func TestRetriesSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		test := retryTest{"GET", "", []int{429}, "1", 0, "200", 2, time.Second}
		for range 40 {
			waits = append(waits, test.run(t).Truncate(100*time.Millisecond))
		}
		slices.Sort(waits)
		assert.GreaterOrEqual(t, waits[39], 2*time.Second, "want waits from 1 s to 3 s")
		assert.Greater(t, len(slices.Compact(waits)), 4, "different waits")
	})
}

type retryTest struct {
	request, key string // METHOD URL, or METHOD for the list
	answers      []int
	after        string
	deadline     time.Duration // none if 0
	want         string        // a regular expression for the status or the error
	requests     int           // how many are sent
	wait         time.Duration // how long they take at least
}

func TestRetries(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	failed := `"` + host + example.ListPath() + `": `
	tests := []retryTest{
		{"GET", "", []int{408, 429, 500}, "7", 0, "200", 4, 21 * s},
		{"GET", "", []int{503}, "Sat, 01 Jan 2000 00:00:09 GMT", 0, "200", 2, 9 * s},
		{"GET", "", []int{503, 503}, "Fri, 31 Dec 1999 00:00:00 GMT", 0, "200", 3, 200 * ms},
		{"GET", "", []int{503, 503}, "-7", 0, "200", 3, 200 * ms},
		{"GET", "", []int{503, 503}, "soon", 0, "200", 3, 200 * ms},
		{"GET", "", []int{503}, "61", 0, "503", 1, 0},
		{"GET", "", []int{503}, "9223372037", 0, "503", 1, 0},
		{"GET", "", []int{503, 503, 503, 503}, "0", 0, "503", 4, 300 * ms},
		{"GET", "", []int{lost, cut, 503}, "", 0, "200", 4, 300 * ms},
		{"GET", "", []int{cut, cut, cut, cut}, "", 0, failed + "unexpected EOF$", 4, 300 * ms},
		{"GET", "", []int{429}, "30", 3 * s, "429", 1, 0},  // a wait past the deadline
		{"GET", "", []int{hangs}, "", 0, "200", 2, 10 * s}, // until the client's timeout
		{"GET", "", []int{hangs}, "", 5 * s, failed + "context deadline exceeded$", 1, 5 * s},
		{"GET", "", []int{503, hangs}, "1", 5 * s, failed + "context deadline exceeded; before that: 503", 2, 5 * s},
		{"GET", "", []int{lost, hangs}, "", 5 * s, failed + "context deadline exceeded; before that: .*" + failed + "lost", 2, 5 * s},
		{"GET", "", []int{500, canceled, hangs}, "1", 0, failed + "context canceled; before that: 503", 3, s},
		{"PUT", "", []int{500}, "1", 0, "200", 2, s},
		{"PUT", "stream", []int{500}, "1", 0, "500", 1, 0}, // its body cannot be sent again
		{"PATCH", "k1", []int{500}, "1", 0, "500", 1, 0},
		{"POST", "k1", []int{500}, "1", 0, "200", 2, s},
		{"POST", "", []int{504, 502}, "1", 0, "200", 3, 2 * s}, // of a proxy
		{"POST", "", []int{400}, "1", 0, "400", 1, 0},
		{"POST", "", []int{lost, lost, lost, lost}, "", 0, failed + "lost .Idempotency-Key: ", 4, 300 * ms},
		{"GET ./pets", "", []int{lost}, "", 0, `"./pets": lost`, 1, 0},                            // no server is named
		{"POST " + host + example.ListPath() + "/1/sales", "k1", []int{500}, "1", 0, "500", 1, 0}, // takes no such key
	}
	for path, item := range example.OpenAPI().Paths.Map() {
		test := retryTest{"POST " + host + example.Base() + path, "", []int{500}, "1", 0, "500", 1, 0}
		if item.Post != nil && item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
			test.want, test.requests, test.wait = "200", 2, s
		}
		tests = append(tests, test)
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.request, test.key, test.answers, test.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.run(t) })
		})
	}
}

const host = "http://petstore.example"

var made = map[string]bool{} // the Idempotency-Keys of clients

// run sends the request through a client that repeats it up to three times.
func (test retryTest) run(t *testing.T) (took time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.deadline, time.Hour))
	defer cancel()
	tr := &transport{statuses: test.answers, after: test.after, cancel: cancel}
	h := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	c := *example.Must(client.NewClient("", client.WithHTTPClient(h), client.WithRetries(3))) // a copy
	method, url, _ := strings.Cut(test.request, " ")
	r, _ := http.NewRequestWithContext(ctx, method, cmp.Or(url, host+example.ListPath()), strings.NewReader("body"))
	if test.key != "" {
		r.Header.Set("Idempotency-Key", test.key)
	}
	if test.key == "stream" {
		r.GetBody = nil
	}
	_ = c.RequestEditors[0](ctx, r) // what a generated method does
	start := time.Now()
	response, err := c.Client.Do(r)
	took = time.Since(start)
	got := fmt.Sprint(err)
	if err == nil {
		got = fmt.Sprint(response.StatusCode)
	}
	assert.Regexp(t, test.want, got)
	assert.Len(t, tr.seen, test.requests, "requests")
	most := test.wait
	if n := test.requests - 1; n > 0 && test.deadline == 0 {
		most += most / time.Duration(n) * (1<<(n+1) - 2) // twice each wait, four times, eight times
	}
	assert.GreaterOrEqual(t, took, test.wait)
	assert.LessOrEqual(t, took, most+time.Millisecond) // in which canceled cancels
	e, ok := errors.AsType[*client.ResponseError](err)
	assert.Equal(t, regexp.MustCompile("^[45]|: 503").MatchString(test.want), ok, "the last response is in %v", err)
	assert.True(t, !ok || e.Header.Get("Retry-After") == test.after, "the last response: %#v", e)
	key, body, _ := strings.Cut(tr.seen[0], " ")
	assert.Len(t, slices.Compact(tr.seen), 1, "the keys and bodies")
	assert.Equal(t, "body", body)
	isRepeated := method == http.MethodPost && test.requests > 1
	assert.False(t, isRepeated && (key == "" || made[key]), "got the key %q, want a new one", key)
	random := test.key == "" && key != ""
	assert.True(t, random || key == test.key, "got the key %q, want %q", key, test.key)
	assert.True(t, err == nil || strings.Contains(got, "Idempotency-Key: "+key) == random, "the key of %s: %q", got, key)
	made[key] = random
	return took
}
