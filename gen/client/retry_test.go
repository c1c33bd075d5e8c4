package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/proof/example"
)

// lossy serves h but loses the connection of each request three times: before h runs,
// after it, and in the middle of the response.
func lossy(h http.Handler) http.Handler {
	var attempts sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := attempts.LoadOrStore(r.URL.String()+r.Header.Get("Idempotency-Key"), new(atomic.Int32))
		switch n.(*atomic.Int32).Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case 3:
			w.Header().Set("Content-Length", "65536") // more than there is
		}
		h.ServeHTTP(w, r)
	})
}

func TestRetriesLostConnections(t *testing.T) {
	t.Parallel()
	c := newClient(t, lossy(newService(0)), client.WithRetries(3))
	var body client.NewPet
	if err := json.Unmarshal([]byte(example.Body(`"categoryId":9007199254740993`)), &body); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			created, err := c.CreatePetWithResponse(t.Context(), nil, body)
			if err != nil {
				t.Error(err)
			} else if err := client.Check(created.JSON201, created.HTTPResponse, created.Body); err != nil || created.JSON201.CategoryID != body.CategoryID {
				t.Errorf("got %s (%v), want the categoryId %d", created.Body, err, body.CategoryID)
			}
		})
	}
	all.Wait()
	if got, err := ids(client.All(t.Context(), c, &client.ListPetsParams{Limit: new(2)})); err != nil || !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("got the pets %v (%v), want 1 to 4", got, err)
	}
}

// doer answers requests with these statuses, each with a Retry-After, and then with 200.
type doer struct {
	statuses []int
	after    string
	seen     []string
}

func (d *doer) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	d.seen = append(d.seen, r.Header.Get("Idempotency-Key")+" "+string(body))
	status := http.StatusOK
	if n := len(d.seen); n <= len(d.statuses) {
		status = d.statuses[n-1]
	}
	if status == 0 {
		return nil, errors.New("lost")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {d.after}}, Body: io.NopCloser(strings.NewReader("{}"))}, err
}

func TestRetries(t *testing.T) {
	for _, test := range []struct {
		method, key string
		statuses    []int
		after       string
		want        string        // the status or the error
		requests    int           // how many were sent
		least, most time.Duration // how long they took
	}{
		{"GET", "", []int{408, 429, 500}, "7", "200", 4, 21 * time.Second, 32 * time.Second},
		{"GET", "", []int{503}, "Sat, 01 Jan 2000 00:00:09 GMT", "200", 2, 9 * time.Second, 14 * time.Second},
		{"GET", "", []int{503}, "99999999999", "503", 1, 0, 0},
		{"GET", "", []int{503}, "61", "503", 1, 0, 0},
		{"GET", "", []int{503, 503, 503, 503}, "0", "503", 4, 0, 1},
		{"GET", "", []int{0, 0, 503}, "", "200", 4, 700 * time.Millisecond, 1050 * time.Millisecond},
		{"GET", "", []int{0, 0, 0, 0}, "", "lost", 4, 700 * time.Millisecond, 1050 * time.Millisecond},
		{"GET", "", []int{503, 503}, "35", "context deadline exceeded", 2, time.Minute, time.Minute},
		{"PUT", "", []int{500}, "1", "200", 2, time.Second, 2 * time.Second},
		{"DELETE", "", []int{500}, "1", "200", 2, time.Second, 2 * time.Second},
		{"POST", "k1", []int{500}, "1", "200", 2, time.Second, 2 * time.Second},
		{"PATCH", "k1", []int{500}, "1", "200", 2, time.Second, 2 * time.Second},
		{"PATCH", "", []int{500}, "1", "500", 1, 0, 0},
		{"PUT", "stream", []int{500}, "1", "500", 1, 0, 0}, // its body cannot be sent again
		{"POST", "", []int{0, 503}, "1", "200", 3, time.Second, 2 * time.Second},
		{"POST", "", []int{400}, "1", "400", 1, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s %s %v %s", test.method, test.key, test.statuses, test.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &doer{statuses: test.statuses, after: test.after}
				c, err := client.NewClient("", client.WithHTTPClient(d), client.WithRetries(3))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, test.method, "http://petstore.example/v1/pets", strings.NewReader("body"))
				if test.key != "" {
					r.Header.Set("Idempotency-Key", test.key)
				}
				if test.key == "stream" {
					r.GetBody = nil
				}
				start := time.Now()
				response, err := c.Client.Do(r)
				got := fmt.Sprint(err)
				if err == nil {
					got = fmt.Sprint(response.StatusCode)
				}
				if took := time.Since(start); got != test.want || len(d.seen) != test.requests || took < test.least || took > test.most {
					t.Errorf("got %s after %d requests in %v, want %s after %d in %v to %v", got, len(d.seen), took, test.want, test.requests, test.least, test.most)
				}
				if key, body, _ := strings.Cut(d.seen[0], " "); len(slices.Compact(d.seen)) != 1 || body != "body" || (test.method == "POST" || test.key != "") != (key != "") || test.key != "" && key != test.key {
					t.Errorf("got the keys and bodies %q, want the same each time", d.seen)
				}
			})
		})
	}
}
