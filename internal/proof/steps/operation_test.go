//go:build postgres

package main

import (
	"strings"
	"testing"
)

// The page is followed as it stands. Each command that it names fails as it says until
// the next step is done.
func TestAnOperationIsAddedAsThePageSays(t *testing.T) {
	t.Parallel()
	all := edits(t, "Adding an operation")
	if len(all) != 4 {
		t.Fatalf("edits of the page: got %d, want the document, the method, the conversation and beyond", len(all))
	}
	dir := copyTree(t)
	document, method, conversation, beyond := all[0], all[1], all[2], all[3]

	document.apply(t, dir)
	wantNext(t, dir, "make generate")
	mustRunIn(t, dir, "go", "generate", "./gen")
	wantNext(t, dir, "listCategories has no method", "internal/pets/service")
	if _, err := runIn(dir, "go", "build", "./..."); err == nil || !strings.Contains(err.Error(), "missing method ListCategories") {
		t.Errorf("the build: got %v, want it to miss the method", err)
	}

	method.apply(t, dir)
	wantNext(t, dir, "listCategories has no conversation", "GET /v1/categories", "cmd/petstore/testdata")
	if _, err := runIn(dir, "go", "test", "./internal/proof/contract"); err == nil || !strings.Contains(err.Error(), "listCategories") {
		t.Errorf("the comparison with the specification: got %v, want it to name the operation", err)
	}

	beyond.apply(t, dir)
	mustRunIn(t, dir, "go", "test", "./internal/proof/contract")
	conversation.apply(t, dir)
	if sentences, err := next(dir); err != nil || len(sentences) > 0 {
		t.Errorf("the next step: got %q (%v), want none", sentences, err)
	}
	mustRunIn(t, dir, "go", "test", "./cmd/petstore", "-run", "Conversations/memory/categories")
}
