package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

// TestListLimit checks how many elements a page has, which may also end earlier, with long texts.
func TestListLimit(t *testing.T) {
	st := memory.New()
	storetest.Fill(t, st, 101)
	s := httptest.NewServer(program.NewHandler(st, nil))
	defer s.Close()
	for query, want := range map[string]int{"": 20, "?limit=1": 1, "?limit=100": 100} {
		_, page, err := program.Send(t.Context(), s.Client(), http.MethodGet, s.URL+example.ListPath()+query, "")
		assert.NoError(t, err)
		assert.Equal(t, want, strings.Count(page, `"id":`), "the page of %q", query)
	}
}
