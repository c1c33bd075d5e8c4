package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// newClient serves h and returns a client of it.
func newClient(t *testing.T, h http.Handler) *client.ClientWithResponses {
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

// TestAll also tests GetPet, and that a page is requested only when the loop needs it, with its
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
	pet, err := client.GetPet(t.Context(), c, 9)
	assert.True(t, err == nil && pet.ID == 9, "GetPet: got %+v, error %v, want the pet 9", pet, err)
	_, err = client.GetPet(t.Context(), c, 10)
	e, _ := errors.AsType[*client.ResponseError](err)
	assert.True(t, e != nil && e.Code == client.CodeNotFound, "GetPet: got error %v, want a ResponseError", err)
	_, err = client.GetPet(t.Context(), c, 9, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer own")
		return nil
	})
	assert.ErrorContains(t, err, "401", "a request has its own key")
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
		require.NoError(t, json.Unmarshal([]byte(walk.params), &params))
		requests := 0
		ctx, cancel := context.WithCancel(t.Context())
		all := client.All(ctx, c, params, func(context.Context, *http.Request) error { requests++; return nil })
		if params != nil {
			*params.Limit = 1 // a sequence has a copy
		}
		for range all {
			break // a sequence may be left, and used again
		}
		got, err := ids(all)
		assert.NoError(t, err, walk.params)
		assert.Equal(t, walk.want, got, walk.params)
		assert.Equal(t, 1+walk.pages, requests, "requests: %s", walk.params)
		cancel()
		got, err = ids(all)
		assert.ErrorIs(t, err, context.Canceled, walk.params)
		assert.Empty(t, got, "%s, canceled", walk.params)
	}
}

// TestResponses tests how All handles responses, also those of proxies and other servers.
func TestResponses(t *testing.T) {
	long := strings.Repeat(`\u001b[31mé`, 100_000)
	limit := example.Operations().Get.Parameters.GetByInAndName("query", "limit").Schema.Value
	sent := fmt.Sprint(*limit.Max, " petstore-client/", example.OpenAPI().Info.Version)
	for name, test := range map[string]struct {
		status     int
		body, want string
		pets       int
	}{
		"the same page again": {200, `[{"id":1},{"id":2}]`, "no further pets after 2$", 2},
		"the same pet again":  {200, `[{"id":1},{"id":1}]`, "no further pets after 1$", 1},
		"a pet without an ID": {200, "[{}]", "no further pets after 0$", 0},
		"an empty page":       {200, "[]", "<nil>", 0},
		"a page of null":      {200, "null\n", `200 "got 200 OK of type application/json`, 0},
		"another success":     {200, "<h1>Log in</h1>", `200 "got 200 OK of type text/html`, 0},
		"too large":           {200, "[" + strings.Repeat(" ", 16<<20) + "]", "larger than 16 MiB", 0},
		"incomplete JSON":     {200, "[", "unexpected end", 0},
		"a proxy's page":      {502, "<h1>Bad Gateway</h1>", `502 "got 502 Bad Gateway of type text/html`, 0},
		"a proxy's error":     {503, `{"code":503}`, `503 "got 503 Service .* pet store: {\\"code\\":503}"$`, 0},
		"an error":            {503, `{"code":"unavailable","message":"Later.","status":503}`, `503 "unavailable: Later."$`, 0},
		"another status":      {502, `{"code":"internal","message":"m","status":500}`, `502 "got 502 Bad Gateway`, 0},
		"a long error":        {500, `{"code":"internal","message":"` + long + `","status":500}`, `500 "internal: (\\x1b\[31mé)+\S{0,9}$`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, sent, r.FormValue("limit")+" "+r.UserAgent(), "the limit and the User-Agent")
				w.Header().Set("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT") // as some proxies send it
				w.Header().Set("X-Request-Id", "id")
				if test.body[0] != '<' {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, err := ids(client.All(ctx, c, nil))
			text := fmt.Sprintf("%.2000v", err)
			assert.Regexp(t, test.want, text)
			assert.True(t, utf8.ValidString(text) && len(text) <= 1100, "%d bytes: %q", len(text), text)
			assert.Equal(t, test.pets, len(got), "pets")
			if e, ok := errors.AsType[*client.ResponseError](err); ok {
				assert.Equal(t, test.status, e.Status)
				assert.Equal(t, "id", e.RequestID)
				assert.Greater(t, e.RetryAfter, time.Hour)
				assert.NotEmpty(t, e.Header.Get("Retry-After"))
			}
		})
	}
}

// TestCreatePet also tests that a client sends no Idempotency-Key of its own if it does not repeat.
func TestCreatePet(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":7}`: "^7 <nil> <nil>$",
		"{}":       `^0 adding a pet: 201 "got 201 Created .* 201 "got 201 Created`,
	} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.NotContains(t, r.Header, "Idempotency-Key")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, body)
		}))
		pet, err := client.CreatePet(t.Context(), c, nil, client.NewPet{})
		assert.Regexp(t, want, fmt.Sprint(pet.ID, err, errors.Unwrap(err)), body)
	}
}
