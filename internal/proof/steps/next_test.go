package main

import "testing"

func TestNoStepIsMissing(t *testing.T) {
	missing, err := next("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range missing {
		t.Error(sentence)
	}
}
