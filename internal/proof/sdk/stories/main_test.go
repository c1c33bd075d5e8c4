package main

import (
	"os"
	"testing"
)

func TestThePageOfTheStoriesHasThemAsTheyAre(t *testing.T) {
	want, err := render("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../stories.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("internal/proof/sdk/stories.md: got another text than the stories make; run: go run ./internal/proof/sdk/stories")
	}
}
