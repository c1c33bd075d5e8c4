package main

import (
	"os"
	"testing"
)

func TestTheREADMEOfTheStoriesHasThemAsTheyAre(t *testing.T) {
	want, err := render("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("internal/sdk/README.md: got another text than the stories make; run: go run ./internal/sdk/readme")
	}
}
