package client_test

import (
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

	"example.com/petstore/internal/pets/web"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets"
)

// walked returns the IDs that a walk yields and the error it ends with. What an
// error comes with, and what comes after it, is a failure.
func walked(t *testing.T, all iter.Seq2[client.Pet, error]) (ids []int64, end error) {
	t.Helper()
	for pet, err := range all {
		switch {
		case end != nil:
			t.Fatalf("after the error %v: got pet %v, error %v, want the end", end, pet, err)
		case err != nil && pet != (client.Pet{}):
			t.Errorf("with the error %v: got pet %v, want none", err, pet)
		case err != nil:
			end = err
		default:
			ids = append(ids, pet.ID)
		}
	}
	return ids, end
}

// upTo returns from, from+step … to.
func upTo(from, to, step int64) (ids []int64) {
	for id := from; id <= to; id += step {
		ids = append(ids, id)
	}
	return ids
}

func TestAWalkReturnsEveryPetOnceWhateverThePagesAre(t *testing.T) {
	s, c := start(t, stocked(t, 47), web.BasePath)
	for _, k := range []struct {
		what   string
		params *client.ListPetsParams
		want   []int64
		pages  int32
	}{
		{"all", nil, upTo(1, 47, 1), 3},
		{"pages of 1", &client.ListPetsParams{Limit: new(1)}, upTo(1, 47, 1), 47},
		{"pages of 10", &client.ListPetsParams{Limit: new(10)}, upTo(1, 47, 1), 5},
		{"one page, just full", &client.ListPetsParams{Limit: new(47)}, upTo(1, 47, 1), 1},
		{"sold, pages of 4", &client.ListPetsParams{Limit: new(4), Status: new(client.PetStatusSold)}, upTo(3, 47, 3), 4},
		{"none pending", &client.ListPetsParams{Status: new(client.PetStatusPending)}, nil, 1},
		{"after 40, pages of 3", &client.ListPetsParams{Limit: new(3), After: new(int64(40))}, upTo(41, 47, 1), 3},
		{"past the end", &client.ListPetsParams{After: new(int64(47))}, nil, 1},
	} {
		s.asked.Store(0)
		got, err := walked(t, client.All(t.Context(), c, k.params))
		if err != nil || !slices.Equal(got, k.want) {
			t.Errorf("%s: got %v, error %v, want %v", k.what, got, err, k.want)
		}
		if asked := s.asked.Load(); asked != k.pages {
			t.Errorf("%s: got %d requests, want %d", k.what, asked, k.pages)
		}
	}
}

func TestAWalkAsksForAPageWhenTheLoopComesToIt(t *testing.T) {
	s, c := start(t, stocked(t, 9), web.BasePath)
	params := client.ListPetsParams{Limit: new(3)}
	all := client.All(t.Context(), c, &params)
	if asked := s.asked.Load(); asked != 0 {
		t.Errorf("before the loop: got %d requests, want none", asked)
	}
	for pet, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if asked, want := s.asked.Load(), int32((pet.ID+2)/3); asked != want {
			t.Errorf("at pet %d: got %d requests, want %d", pet.ID, asked, want)
		}
		if pet.ID == 4 {
			break
		}
	}
	if asked := s.asked.Load(); asked != 2 {
		t.Errorf("after the break: got %d requests, want 2", asked)
	}
	if params.After != nil || *params.Limit != 3 {
		t.Errorf("parameters: got %v, want them as they were given", params)
	}
	if again, err := walked(t, all); err != nil || !slices.Equal(again, upTo(1, 9, 1)) {
		t.Errorf("the same walk again: got %v, error %v, want all nine", again, err)
	}
}

func TestAWalkMeetsNoPetTwiceWhileOthersAreAdded(t *testing.T) {
	store := stocked(t, 10)
	_, c := start(t, store, web.BasePath)
	var got []int64
	for pet, err := range client.All(t.Context(), c, &client.ListPetsParams{Limit: new(2)}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, pet.ID); len(got) < 5 {
			if _, err := store.CreatePet(t.Context(), pets.NewPet{Name: "New", CategoryID: 1, Status: pets.Sold}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := upTo(1, 14, 1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAWalkEndsWithTheErrorOfThePageThatFailed(t *testing.T) {
	_, c := start(t, failsAfter{stocked(t, 9), 6}, web.BasePath)
	got, err := walked(t, client.All(t.Context(), c, &client.ListPetsParams{Limit: new(3)}))
	if want := upTo(1, 6, 1); !slices.Equal(got, want) {
		t.Errorf("before the error: got %v, want %v", got, want)
	}
	failed, ok := errors.AsType[*client.ResponseError](err)
	if !ok || failed.Status != 503 || failed.Code != "unavailable" || failed.Message == "" || failed.RequestID == "" || failed.RetryAfter < time.Second {
		t.Errorf("error: got %#v (%v), want the service's 503 with all it says", failed, err)
	}
}

func TestAWalkWithAWrongKeyIsRefused(t *testing.T) {
	s, _ := start(t, stocked(t, 1), web.BasePath)
	got, err := walked(t, client.All(t.Context(), clientOf(t, s.URL+web.BasePath, "no-key-of-this-server"), nil))
	if failed, ok := errors.AsType[*client.ResponseError](err); !ok || failed.Status != 401 || failed.Code != "unauthorized" || got != nil {
		t.Errorf("got pets %v, error %v, want none and 401 unauthorized", got, err)
	}
}

func TestAWalkEndsWithItsContext(t *testing.T) {
	s, c := start(t, stocked(t, 9), web.BasePath)
	for _, at := range []int64{0, 1, 3} { // before the walk, within a page, between two
		s.asked.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		if at == 0 {
			cancel()
		}
		last := int64(0)
		var end error
		for pet, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(3)}) {
			if end = err; err != nil {
				break
			}
			if last = pet.ID; last == at {
				cancel()
			}
		}
		cancel()
		if !errors.Is(end, context.Canceled) || last != at {
			t.Errorf("cancelled at %d: got pets up to %d, error %v, want no further one and context canceled", at, last, end)
		}
		if asked := s.asked.Load(); asked > 1 {
			t.Errorf("cancelled at %d: got %d requests, want no further page", at, asked)
		}
	}
}

func TestAWalkDoesNotWaitForAServerThatHangs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := walked(t, client.All(ctx, clientOf(t, s.URL, key), nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the deadline", err)
	}
}

func TestAWalkGoesNowhereElseThanToTheAddressOfItsClient(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("got a request elsewhere, want none") }))
	t.Cleanup(elsewhere.Close)
	store := stocked(t, 9)
	for _, base := range []string{elsewhere.URL + "/v1", "/behind/a/proxy/v1", "//other.example/v1"} {
		s, c := start(t, store, base)
		got, err := walked(t, client.All(t.Context(), c, &client.ListPetsParams{Limit: new(4)}))
		if want := upTo(1, 9, 1); err != nil || !slices.Equal(got, want) || s.asked.Load() != 3 {
			t.Errorf("links to %s: got %v, error %v in %d requests, want %v in 3", base, got, err, s.asked.Load(), want)
		}
	}
}

func TestAWalkIsNotLedAstray(t *testing.T) {
	const two = `[{"id":1,"name":"a","categoryId":1},{"id":2,"name":"b","categoryId":1}]`
	for _, k := range []struct {
		what, link, body, want string
		pets                   int
	}{
		{"the same page again", `</v1/pets?after=2>; rel="next"`, two, "pet 1 came after pet 2", 2},
		{"an empty page again", `</v1/pets?after=2>; rel="next"`, `[]`, "the page after 2 names as the next one that after 2", 0},
		{"pets out of order", "", `[{"id":2,"name":"b","categoryId":1},{"id":1,"name":"a","categoryId":1}]`, "pet 1 came after pet 2", 1},
		{"a pet without an id", "", `[{"id":2},{"name":"a"}]`, "pet 0 came after pet 2", 1},
		{"another operation", `</v1/cats?after=2>; rel="next"`, two, "it leads to another operation", 2},
		{"no position", `</v1/pets?page=2>; rel="next"`, two, "it has no position", 2},
		{"a malformed query", `</v1/pets?after=%zz>; rel="next"`, two, "its query is malformed", 2},
		{"no address", `<%zz>; rel="next"`, two, "it is no address", 2},
		{"not JSON", "", `<html>`, "invalid character", 0},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if k.link != "" {
				w.Header().Set("Link", k.link)
			}
			fmt.Fprint(w, k.body)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a walk led in circles would not end
		got, err := walked(t, client.All(ctx, clientOf(t, s.URL, key), nil))
		cancel()
		s.Close()
		if err == nil || !strings.Contains(err.Error(), k.want) || len(got) != k.pets {
			t.Errorf("%s: got %d pets, error %v, want %d and %q", k.what, len(got), err, k.pets, k.want)
		}
	}
}
