package client_test

import (
	"net/http"
	"testing"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
)

func TestAStrictClientHearsOfAnUnknownParameter(t *testing.T) {
	s, _ := start(t, memory.New(), web.BasePath)
	for _, c := range []struct {
		options []client.ClientOption
		want    int
	}{
		{[]client.ClientOption{client.WithKey(key), client.Strict()}, 400},
		{[]client.ClientOption{client.WithKey(key)}, 200},
	} {
		made, err := client.NewClient(s.URL+web.BasePath, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.NewListPetsRequest(made.Server, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = "lmit=2"
		for _, edit := range made.RequestEditors {
			if err := edit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != c.want {
			t.Errorf("%d options: got %d (%v), want %d", len(c.options), response.StatusCode, err, c.want)
		}
	}
}
