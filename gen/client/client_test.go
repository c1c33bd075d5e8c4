package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// newService returns the service with n pets, every third of them sold.
func newService(n int) http.Handler {
	store, p := memory.New(), example.Pet()
	for i := range n {
		p.Status = []pets.Status{pets.Available, pets.Pending, pets.Sold}[i%3]
		_, _ = store.CreatePet(context.Background(), p, pets.IdempotencyKey{}) // never fails
	}
	h, err := program.NewHandler(store, nil)
	if err != nil {
		panic(err)
	}
	return h
}

// newClient serves h and returns a client of it.
func newClient(t *testing.T, h http.Handler) *client.ClientWithResponses {
	t.Helper()
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.NewClientWithResponses(s.URL+example.Base(), client.WithKey(program.Key))
	if err != nil {
		t.Fatal(err)
	}
	return c
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
	c, every := newClient(t, newService(9)), []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for name, test := range map[string]struct {
		params *client.ListPetsParams
		pages  int
		want   []int64
	}{
		"no parameters": {nil, 1, every},
		"pages of 1":    {&client.ListPetsParams{Limit: new(1)}, 9, every},
		"pages of 4":    {&client.ListPetsParams{Limit: new(4)}, 3, every},
		"status":        {&client.ListPetsParams{Limit: new(2), Status: new(client.PetStatusSold)}, 2, []int64{3, 6, 9}},
		"after":         {&client.ListPetsParams{Limit: new(2), After: new(int64(6))}, 2, []int64{7, 8, 9}},
	} {
		requests := 0
		ctx, cancel := context.WithCancel(t.Context())
		all := client.All(ctx, c, test.params, func(context.Context, *http.Request) error { requests++; return nil })
		for range all {
			break // a sequence may be left, and used again
		}
		if requests != 1 {
			t.Errorf("%s: got %d requests for one pet, want 1", name, requests)
		}
		if got, err := ids(all); err != nil || !slices.Equal(got, test.want) || requests != 1+test.pages {
			t.Errorf("%s: got %v (%v) in %d pages, want %v in %d", name, got, err, requests-1, test.want, test.pages)
		}
		cancel()
		if got, err := ids(all); len(got) > 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, canceled: got %v, error %v, want none and that", name, got, err)
		}
	}
}

// TestResponses tests how All handles responses, also those of proxies and other servers.
func TestResponses(t *testing.T) {
	const two, next = `[{"id":1,"name":"a","categoryId":1},{"id":2,"name":"b","categoryId":1}]`, `</v1/pets?after=2>; rel="next"`
	for name, test := range map[string]struct {
		status           int
		link, body, want string
		pets             int
	}{
		"no link":             {200, "", two, "<nil>", 2},
		"next in a title":     {200, `</docs>; rel="help"; title="rel=next"`, two, "<nil>", 2},
		"the same page again": {200, next, two, "no further pets", 2},
		"an empty page":       {200, next, "[]", "no further pets", 0},
		"the second of links": {200, `</docs>; rel="help", ` + next, two, "no further pets", 2},
		"another success":     {200, "", "<h1>Log in</h1>", `200: got "200 OK" of type "text/html`, 0},
		"incomplete JSON":     {200, "", "[", "unexpected end", 0},
		"a proxy's page":      {502, "", "<h1>Bad Gateway</h1>", `502: got "502 Bad Gateway" of type "text/html`, 0},
		"an error":            {503, "", `{"code":"unavailable","message":"Later.","status":503}`, "503 unavailable: Later.", 0},
		"another status":      {502, "", `{"code":"internal","message":"m","status":500}`, `502: got "502 Bad Gateway"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got, want := r.FormValue("limit"), fmt.Sprint(*example.Parameter("limit").Max); got != want {
					t.Errorf("limit: got %s, want %s", got, want)
				}
				w.Header().Set("Link", test.link)
				w.Header().Set("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT") // as some proxies send it
				w.Header().Set("X-Request-Id", "id")
				if test.body[0] != '<' {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			got, err := ids(client.All(t.Context(), c, nil))
			if !strings.Contains(fmt.Sprint(err), test.want) || len(got) != test.pets {
				t.Errorf("got %d pets, error %v, want %d, %q", len(got), err, test.pets, test.want)
			}
			e, ok := errors.AsType[*client.ResponseError](err)
			if ok && (e.Status != test.status || e.RequestID != "id" || e.RetryAfter < time.Hour) {
				t.Errorf("got %#v, want the status, the request ID and how long to wait", e)
			}
		})
	}
}

// TestRedirect tests that the key is not sent to another address, such as one in clear.
func TestRedirect(t *testing.T) {
	unwanted := func(http.ResponseWriter, *http.Request) { t.Error("got a request, want none") }
	other := program.NewServer(http.HandlerFunc(unwanted))
	defer other.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	for _, options := range [][]client.ClientOption{
		{client.WithHTTPClient(s.Client()), client.WithKey(program.Key)},
		{client.WithRetries(1), client.WithKey(program.Key), client.WithHTTPClient(s.Client())},
	} {
		c, err := client.NewClientWithResponses(s.URL, options...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ids(client.All(t.Context(), c, nil))
		e, ok := errors.AsType[*client.ResponseError](err)
		if !ok || e.Status != http.StatusTemporaryRedirect {
			t.Errorf("got error %v, want the redirect", err)
		}
	}
}

// TestLargeResponse tests that a small response that is large once it is decompressed is
// not read to its end.
func TestLargeResponse(t *testing.T) {
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer zip.Close()
		fmt.Fprint(zip, "[", strings.Repeat(" ", 16<<20), "]")
	}))
	if _, err := ids(client.All(t.Context(), c, nil)); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("got error %v, want one that the response is too large", err)
	}
}

func TestEmptyKey(t *testing.T) {
	if _, err := client.NewClient("http://127.0.0.1:8080/v1", client.WithKey("")); err == nil {
		t.Error("got no error, want one")
	}
}
