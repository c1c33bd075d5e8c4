package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/web"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets/store/memory"
)

func TestEveryRequestCarriesTheKey(t *testing.T) {
	_, c := start(t, memory.New(), web.BasePath)
	made, err := c.CreatePetWithResponse(t.Context(), nil, client.NewPet{Name: "Rex", CategoryID: 9007199254740993})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Check(made.JSON201, made.HTTPResponse, made.Body); err != nil {
		t.Fatal(err)
	}
	if got := made.JSON201.CategoryID; got != 9007199254740993 {
		t.Errorf("categoryId: got %d, want 9007199254740993", got)
	}
	if _, err := walked(t, client.All(t.Context(), c, nil)); err != nil {
		t.Errorf("listing: got error %v, want none", err)
	}
}

func TestAnEmptyKeyIsAnErrorBeforeAnyRequest(t *testing.T) {
	if _, err := client.NewClientWithResponses("http://127.0.0.1:8080/v1", client.WithKey("")); err == nil {
		t.Error("got no error, want one that says that the key is empty")
	}
}

func TestTheKeyIsNotHandedOnToAnotherHost(t *testing.T) {
	got := "no request"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
	}))
	t.Cleanup(elsewhere.Close)
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	s := httptest.NewServer(http.RedirectHandler(other, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	if _, err := clientOf(t, s.URL, key).ListPetsWithResponse(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got != "" {
		t.Errorf("Authorization at another host: got %q, want none", got)
	}
}
