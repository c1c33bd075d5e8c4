package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// newService returns the service with n pets, every third of them sold.
func newService(n int) http.Handler {
	store := memory.New()
	for i := range n {
		p := example.Pet()
		if i%3 == 2 {
			p.Status = pets.Sold
		}
		if _, err := store.CreatePet(context.Background(), p, pets.IdempotencyKey{}); err != nil {
			panic(err)
		}
	}
	h, err := program.NewHandler(store, nil)
	if err != nil {
		panic(err)
	}
	return h
}

// newClient serves h and returns a client of it.
func newClient(t *testing.T, h http.Handler, options ...client.ClientOption) *client.ClientWithResponses {
	t.Helper()
	s := program.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.NewClientWithResponses(s.URL+example.Base(), append(options, client.WithKey(program.Key))...)
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

func TestAll(t *testing.T) {
	c := newClient(t, newService(9))
	for name, test := range map[string]struct {
		params *client.ListPetsParams
		want   []int64
	}{
		"no parameters": {nil, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"pages of 1":    {&client.ListPetsParams{Limit: new(1)}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"pages of 4":    {&client.ListPetsParams{Limit: new(4)}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"status":        {&client.ListPetsParams{Limit: new(2), Status: new(client.PetStatusSold)}, []int64{3, 6, 9}},
		"after":         {&client.ListPetsParams{Limit: new(2), After: new(int64(6))}, []int64{7, 8, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			all := client.All(t.Context(), c, test.params)
			for range 2 { // a sequence may be used again
				if got, err := ids(all); err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %v (%v), want %v", got, err, test.want)
				}
			}
		})
	}
}

// TestAllLazy tests that pages are requested only when the loop needs them, with its
// context.
func TestAllLazy(t *testing.T) {
	c := newClient(t, newService(5))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last int64
	var end error
	for pet, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(1)}) {
		if last, end = max(last, pet.ID), err; last == 2 {
			cancel()
		}
	}
	if last != 2 || !errors.Is(end, context.Canceled) {
		t.Errorf("got pets up to %d, error %v, want 2 and context canceled", last, end)
	}
	for range client.All(t.Context(), c, nil) {
		break // must not panic
	}
}

// TestAllOtherServers tests how All handles responses of other servers.
func TestAllOtherServers(t *testing.T) {
	const two, next = `[{"id":1,"name":"a","categoryId":1},{"id":2,"name":"b","categoryId":1}]`, `</v1/pets?after=2>; rel="next"`
	for name, test := range map[string]struct {
		link, body, want string
		pets             int
	}{
		"no link":              {"", two, "", 2},
		"another link":         {`</docs>; rel="deprecation"`, two, "", 2},
		"next in a title":      {`</docs>; rel="help"; title="rel=next"`, two, "", 2},
		"the same page again":  {next, two, "no further pets", 2},
		"an empty page":        {next, "[]", "no further pets", 0},
		"the second of links":  {`</docs>; rel="help", </v1/pets?after=2>; rel="next"`, two, "no further pets", 2},
		"not JSON":             {"", "<html>", "invalid character", 0},
		"JSON of another kind": {"", "{}", "cannot unmarshal", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got, want := r.FormValue("limit"), fmt.Sprint(*example.Parameter("limit").Max); got != want {
					t.Errorf("limit: got %s, want %s", got, want)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Link", test.link)
				fmt.Fprint(w, test.body)
			}))
			got, err := ids(client.All(t.Context(), c, nil))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || len(got) != test.pets {
				t.Errorf("got %d pets, error %v, want %d, %q", len(got), err, test.pets, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		body, want string
	}{
		"the service's":               {418, `{"code":"not_yet_known","message":"A new code.","status":418}`, "418 not_yet_known: A new code."},
		"a proxy's page":              {502, "<h1>Bad Gateway</h1>", `502: got "502 Bad Gateway" of type "text/plain"`},
		"another status in the body":  {502, `{"code":"internal","message":"m","status":500}`, `502: got "502 Bad Gateway"`},
		"a success of another server": {200, "<h1>Log in</h1>", `200: got "200 OK"`},
	} {
		t.Run(name, func(t *testing.T) {
			response := &http.Response{
				StatusCode: test.status, Status: fmt.Sprintf("%d %s", test.status, http.StatusText(test.status)),
				Header: http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"7"}, "X-Request-Id": {"id"}},
			}
			err := client.Check[client.Pet](nil, response, []byte(test.body))
			e, ok := errors.AsType[*client.ResponseError](err)
			if !ok || !strings.HasPrefix(e.Error(), test.want) || e.RetryAfter != 7*time.Second || e.RequestID != "id" {
				t.Errorf("got %#v, want %q", err, test.want)
			}
		})
	}
	if _, err := client.NewClient("http://127.0.0.1:8080/v1", client.WithKey("")); err == nil {
		t.Error("an empty key: got no error, want one")
	}
}
