package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/edge/program"
	"example.com/petstore/internal/pets"
)

func TestOnlyAYesConfirms(t *testing.T) {
	for reply, want := range map[string]bool{
		"y\n": true, "Y\n": true, " yes \r\n": true,
		"": false, "\n": false, "n\n": false, "yy\n": false, "no, y\n": false,
	} {
		var stderr bytes.Buffer
		err := confirm(t.Context(), environment{stdin: strings.NewReader(reply), stderr: &stderr}, "Revoke it?", "nothing was revoked")
		if (err == nil) != want || err != nil && (err.Error() != "nothing was revoked" || exitStatus(err) != 1) {
			t.Errorf("%q: got error %v, want a yes: %t", reply, err, want)
		}
		if !strings.HasPrefix(stderr.String(), "Revoke it? [y/N] ") {
			t.Errorf("%q: got the question %q", reply, stderr.String())
		}
	}
}

// Nobody replies, and Ctrl-C is pressed.
func TestAnInterruptedQuestionSaysThatNothingWasDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stdin, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() })
	stderr := &onWrite{do: func() { cancel(&program.Interruption{Signal: 2}) }}
	err := confirm(ctx, environment{stdin: stdin, stderr: stderr}, "Revoke it?", "nothing was revoked")
	if err == nil || err.Error() != "interrupted; nothing was revoked" || exitStatus(err) != 130 {
		t.Errorf("got error %v, want one that says that nothing was revoked, and exit status 130", err)
	}
	if !strings.HasSuffix(stderr.String(), "\n") {
		t.Errorf("got %q, want the question's line ended", stderr.String())
	}
}

func TestAKeyIsNamedByItsIDBeforeAnyName(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	keys := []pets.Key{
		{ID: "aaaaaaaa", Name: "bbbbbbbb"},
		{ID: "bbbbbbbb", Name: "twice"},
		{ID: "cccccccc", Name: "twice", RevokedAt: noon},
		{ID: "dddddddd", Name: "often"},
		{ID: "eeeeeeee", Name: "often"},
		{ID: "ffffffff", Name: "over", ExpiresAt: noon},
	}
	for named, want := range map[string]string{"aaaaaaaa": "aaaaaaaa", "bbbbbbbb": "bbbbbbbb", "twice": "bbbbbbbb", "cccccccc": "cccccccc", "ffffffff": "ffffffff"} {
		if got, err := keyNamed(keys, named, noon); err != nil || got.ID != want {
			t.Errorf("%s: got %s (%v), want %s", named, got.ID, err, want)
		}
	}
	for _, named := range []string{"", "nothing", "over", "often", "TWICE"} {
		if got, err := keyNamed(keys, named, noon); err == nil || got != (pets.Key{}) {
			t.Errorf("%q: got %v, want an error", named, got)
		}
	}
	if _, err := keyNamed(keys, "often", noon); !slices.Contains(strings.Fields(err.Error()), "dddddddd,") {
		t.Errorf("a name of two keys: got %v, want their IDs", err)
	}
}
