package main

import (
	"os"
	"testing"
)

func TestTheDocumentsShowWhatWasMeasured(t *testing.T) {
	const root = "../../../../"
	f, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := reports(root, f)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		if got, err := os.ReadFile(root + path); err != nil || string(got) != want {
			t.Errorf("%s (%v): got other tables than the measured files have; run make bench-report", path, err)
		}
	}
}
