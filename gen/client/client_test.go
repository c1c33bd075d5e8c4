package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// newClient serves h and returns a client of it.
func newClient(t *testing.T, h http.Handler) *client.ClientWithResponses {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return example.Must(client.NewClientWithResponses(s.URL+example.Base(), client.WithKey(program.Key)))
}

func ids(all iter.Seq2[client.Pet, error]) (ids []int64, err error) {
	for pet, err := range all {
		if err != nil {
			return ids, err
		}
		ids = append(ids, pet.ID)
	}
	return ids, nil
}

// TestAll also tests that a page is requested only when the loop needs it, with its
// context and editors.
func TestAll(t *testing.T) {
	type walk struct {
		params string // as JSON
		pages  int
		want   []int64
	}
	store := memory.New()
	for _, p := range example.Pets(9) {
		_, _ = store.CreatePet(t.Context(), p, pets.IdempotencyKey{}) // never fails
	}
	c := newClient(t, program.NewHandler(store, nil))
	walks := []walk{{`null`, 2, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {`{"limit":2,"after":6}`, 3, []int64{7, 8, 9}}}
	for filter, q := range example.Filters() {
		q.Limit = 9
		selected, _ := store.Pets(t.Context(), q)
		var ids []int64
		for _, p := range selected.Pets {
			ids = append(ids, p.ID)
		}
		name, value, _ := strings.Cut(filter, "=")
		walks = append(walks, walk{fmt.Sprintf(`{"limit":2,%q:%q}`, name, value), (len(ids)+1)/2 + 1, ids}) // the last page is empty
	}
	for _, walk := range walks {
		var params *client.ListPetsParams
		if err := json.Unmarshal([]byte(walk.params), &params); err != nil {
			t.Fatal(err)
		}
		requests := 0
		ctx, cancel := context.WithCancel(t.Context())
		all := client.All(ctx, c, params, func(context.Context, *http.Request) error { requests++; return nil })
		for range all {
			break // a sequence may be left, and used again
		}
		got, err := ids(all)
		if err != nil || !slices.Equal(got, walk.want) || requests != 1+walk.pages {
			t.Errorf("%s: got %v (%v) in %d pages, want %v in %d", walk.params, got, err, requests-1, walk.want, walk.pages)
		}
		cancel()
		if got, err := ids(all); len(got) > 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, canceled: got %v, error %v, want none and that", walk.params, got, err)
		}
	}
}

// TestResponses tests how All handles responses, also those of proxies and other servers.
func TestResponses(t *testing.T) {
	const two = `[{"id":1},{"id":2}]`
	long := strings.Repeat(`\u001b[31mé`, 100_000)
	limit := example.Operations().Get.Parameters.GetByInAndName("query", "limit").Schema.Value
	for name, test := range map[string]struct {
		status     int
		body, want string
		pets       int
	}{
		"the same page again": {200, two, "no further pets after 2$", 2},
		"the same pet again":  {200, `[{"id":1},{"id":1}]`, "no further pets after 1$", 1},
		"an empty page":       {200, "[]", "<nil>", 0},
		"a page of null":      {200, "null\n", `200 "got 200 OK of type application/json`, 0},
		"another success":     {200, "<h1>Log in</h1>", `200 "got 200 OK of type text/html`, 0},
		"too large":           {200, "[" + strings.Repeat(" ", 16<<20) + "]", "larger than 16 MiB", 0},
		"incomplete JSON":     {200, "[", "unexpected end", 0},
		"a proxy's page":      {502, "<h1>Bad Gateway</h1>", `502 "got 502 Bad Gateway of type text/html`, 0},
		"an error":            {503, `{"code":"unavailable","message":"Later.","status":503}`, `503 "unavailable: Later."$`, 0},
		"another status":      {502, `{"code":"internal","message":"m","status":500}`, `502 "got 502 Bad Gateway`, 0},
		"a long error":        {500, `{"code":"x","message":"` + long + `","status":500}`, `500 "x: (\\x1b\[31mé)+\S{0,9}$`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got, want := r.FormValue("limit"), fmt.Sprint(*limit.Max); got != want {
					t.Errorf("limit: got %s, want %s", got, want)
				}
				w.Header().Set("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT") // as some proxies send it
				w.Header().Set("X-Request-Id", "id")
				if test.body[0] != '<' {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			got, err := ids(client.All(t.Context(), c, nil))
			text := fmt.Sprint(err)
			if !regexp.MustCompile(test.want).MatchString(text) || !utf8.ValidString(text) || len(text) > 1100 || len(got) != test.pets {
				t.Errorf("got %d pets, error %v, want %d, %q", len(got), err, test.pets, test.want)
			}
			e, ok := errors.AsType[*client.ResponseError](err)
			if ok && (e.Status != test.status || e.RequestID != "id" || e.RetryAfter < time.Hour) {
				t.Errorf("got %#v, want the status, the request ID and how long to wait", e)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "Fri, 31 Dec 1999 00:00:00 GMT": 0,
	} {
		err := client.Check[int](nil, &http.Response{Header: http.Header{"Retry-After": {value}}}, nil)
		if e, _ := errors.AsType[*client.ResponseError](err); e.RetryAfter != want {
			t.Errorf("%q: got %v, want %v", value, e.RetryAfter, want)
		}
	}
}

// TestKey tests that the key is not empty, and is not sent to another address, such as one
// without TLS, unless the CheckRedirect of an HTTP client allows it.
func TestKey(t *testing.T) {
	s := httptest.NewTLSServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer s.Close()
	refuse := func(*http.Request, []*http.Request) error { return errors.New("refused") }
	deciding := &http.Client{Transport: s.Client().Transport, CheckRedirect: refuse}
	for want, options := range map[string][]client.ClientOption{
		`307 "got `: {client.WithKey(program.Key), client.WithHTTPClient(s.Client())},
		"refused":   {client.WithKey(program.Key), client.WithHTTPClient(deciding)},
		"is empty":  {client.WithKey("")},
	} {
		c, err := client.NewClientWithResponses(s.URL, options...)
		if err == nil {
			_, err = ids(client.All(t.Context(), c, nil))
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
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
		waits := map[time.Duration]bool{}
		for range 40 {
			took := retryTest{"GET", "", []int{429}, "1", 0, "200", 2, time.Second}.run(t)
			waits[took.Truncate(100*time.Millisecond)] = true
		}
		if sorted := slices.Sorted(maps.Keys(waits)); len(sorted) < 5 || sorted[len(sorted)-1] < 2*time.Second {
			t.Errorf("got waits of %v, want more that differ, from 1 s to 3 s", sorted)
		}
	})
}

type retryTest struct {
	request, key string // METHOD PATH, or METHOD for the list
	answers      []int
	after        string
	deadline     time.Duration // none if 0
	want         string        // a regular expression for the status or the error
	requests     int           // how many are sent
	wait         time.Duration // how long they take at least
}

func TestRetries(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	failed := `"http://petstore.example` + example.ListPath() + `": `
	tests := []retryTest{
		{"GET", "", []int{408, 429, 500}, "7", 0, "200", 4, 21 * s},
		{"GET", "", []int{502, 504}, "7", 0, "200", 3, 14 * s}, // of a proxy
		{"GET", "", []int{503}, "Sat, 01 Jan 2000 00:00:09 GMT", 0, "200", 2, 9 * s},
		{"GET", "", []int{503, 503}, "Fri, 31 Dec 1999 00:00:00 GMT", 0, "200", 3, 200 * ms},
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
		{"POST", "", []int{504, 502}, "1", 0, "200", 3, 2 * s},
		{"POST", "", []int{400}, "1", 0, "400", 1, 0},
		{"POST " + example.PetPath(1) + "/sales", "k1", []int{500}, "1", 0, "500", 1, 0}, // takes no such key
	}
	for path, item := range example.OpenAPI().Paths.Map() {
		if item.Post == nil {
			continue
		}
		test := retryTest{"POST " + example.Base() + path, "", []int{500}, "1", 0, "500", 1, 0}
		if item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
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

// run sends the request through a client that repeats it up to three times.
func (test retryTest) run(t *testing.T) (took time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.deadline, time.Hour))
	defer cancel()
	tr := &transport{statuses: test.answers, after: test.after, cancel: cancel}
	h := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	c := example.Must(client.NewClient("", client.WithRetries(3), client.WithHTTPClient(h)))
	method, path, _ := strings.Cut(test.request, " ")
	r, _ := http.NewRequestWithContext(ctx, method, "http://petstore.example"+cmp.Or(path, example.ListPath()), strings.NewReader("body"))
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
	most := test.wait
	if n := test.requests - 1; n > 0 && test.deadline == 0 {
		most += most / time.Duration(n) * (1<<(n+1) - 2) // twice each wait, four times, eight times
	}
	onTime := took >= test.wait && took <= most+time.Millisecond // in which canceled cancels
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
	return took
}
