package served_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// newPet and pet are the contract's shapes, written down once more by hand.
type newPet struct {
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

type pet struct {
	ID int64 `json:"id"`
	newPet
}

// call sends a request by Go's own client and decodes its response into result.
func (s *server) call(t rapid.TB, method, target string, body, result any) *http.Response {
	t.Helper()
	encoded := new(bytes.Buffer)
	if body != nil {
		e := json.NewEncoder(encoded)
		e.SetEscapeHTML(false)
		if err := e.Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequest(method, s.URL+target, encoded)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	if err := s.judge.Check(r, response, text.Bytes()); err != nil {
		t.Errorf("%s %s got %d %s\n%v", method, target, response.StatusCode, text.Bytes(), err)
	}
	if err := json.Unmarshal(text.Bytes(), result); err != nil {
		t.Fatalf("%s %s got %d %s: %v", method, target, response.StatusCode, text.Bytes(), err)
	}
	return response
}

func TestAnyPetComesBackExactlyAsItWasSent(t *testing.T) {
	s := start(t)
	names := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))
	statuses := rapid.SampledFrom([]string{"", "available", "pending", "sold"})
	var last int64
	rapid.Check(t, func(t *rapid.T) {
		sent := newPet{Name: names.Draw(t, "name"), CategoryID: rapid.Int64().Draw(t, "categoryId"), Status: statuses.Draw(t, "status")}
		var created, fetched pet
		response := s.call(t, "POST", petsPath, sent, &created)
		want := pet{ID: created.ID, newPet: sent}
		if want.Status == "" {
			want.Status = "available"
		}
		if created != want || created.ID <= last {
			t.Fatalf("created: got %+v, want %+v with an id past %d", created, want, last)
		}
		s.call(t, "GET", response.Header.Get("Location"), nil, &fetched)
		if fetched != want {
			t.Fatalf("fetched: got %+v, want %+v", fetched, want)
		}
		var page []pet
		s.call(t, "GET", fmt.Sprintf("%s?status=%s&after=%d", petsPath, want.Status, last), nil, &page)
		if len(page) != 1 || page[0] != want {
			t.Fatalf("listed: got %+v, want %+v alone", page, want)
		}
		last = created.ID
	})
}

func TestAWalkOfAnyPageSizeMeetsEveryPetOnce(t *testing.T) {
	s := start(t)
	const pets = 137
	withPets(t, s, pets)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		status := rapid.SampledFrom([]string{"", "available", "pending", "sold"}).Draw(t, "status")
		next := fmt.Sprintf("%s?limit=%d", petsPath, limit)
		if status != "" {
			next += "&status=" + status
		}
		var walked []pet
		for next != "" {
			var page []pet
			link := s.call(t, "GET", next, nil, &page).Header.Get("Link")
			if len(page) > limit || (link != "" && len(page) != limit) {
				t.Fatalf("a page: got %d pets, next %q, want %d", len(page), link, limit)
			}
			walked = append(walked, page...)
			next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		}
		i := 0
		for id := int64(1); id <= pets; id++ {
			want := []string{"available", "pending", "sold"}[(id-1)%3]
			if status != "" && want != status {
				continue
			}
			if i >= len(walked) || walked[i].ID != id || walked[i].Status != want {
				t.Fatalf("pet %d of the walk: got %+v, want id %d, %s", i+1, walked[min(i, len(walked)-1):], id, want)
			}
			i++
		}
		if i != len(walked) {
			t.Fatalf("the walk: got %d pets, want %d", len(walked), i)
		}
	})
}

func TestRequestsAtTheSameTimeDoNotMixUpTheirPets(t *testing.T) {
	s := start(t)
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for i := range 40 {
				sent := newPet{Name: strings.Repeat(fmt.Sprintf("%d.%d ", client, i), 1+i*37%500), CategoryID: int64(client)<<32 + int64(i), Status: "sold"}
				var created, fetched pet
				response := s.call(t, "POST", petsPath, sent, &created)
				s.call(t, "GET", response.Header.Get("Location"), nil, &fetched)
				if created.newPet != sent || fetched.newPet != sent || created.ID != fetched.ID {
					t.Errorf("client %d: got %+v, then %+v, want %+v", client, created, fetched, sent)
					return
				}
			}
		})
	}
	clients.Wait()
}
