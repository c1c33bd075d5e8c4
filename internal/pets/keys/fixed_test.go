package keys_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/store/memory"
)

func TestAFixedKeyIsLongEnoughAndOfTheRightCharacters(t *testing.T) {
	for _, key := range []string{"0123456789abcdef", strings.Repeat("x", 500), "AZaz09-._~+/AZaz", "0123456789abcde=", "0123456789abcd=="} {
		if _, err := keys.New(memory.New(), []string{key}, time.Now); err != nil {
			t.Errorf("%q: got error %v, want it accepted", key, err)
		}
	}
	for _, key := range []string{"", "secret", "0123456789abcde", "================", "0123456789 abcdef", "0123456789abcdef\n", "0123456789=abcdef", "0123456789abcdéf", "0123456789abcdef\x00", "0123456789,abcdef"} {
		_, err := keys.New(memory.New(), []string{"a-perfectly-good-key", key}, time.Now)
		if err == nil {
			t.Errorf("%q: got it accepted, want an error", key)
			continue
		}
		if key != "" && strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "perfectly") {
			t.Errorf("got error %q, want no key in it", err)
		}
		if !strings.Contains(err.Error(), "key 2 of 2") {
			t.Errorf("got error %q, want it to say which key", err)
		}
	}
}

func TestAFixedKeyOpensWithoutTheStore(t *testing.T) {
	const a, b = "first-key-of-the-operator", "second-key-of-the-operator"
	d := newDesk(t, a, b, a)
	if got := d.Fixed(); got != 2 {
		t.Errorf("got %d fixed keys, want 2", got)
	}
	if err := d.Close(); err != nil {
		t.Fatalf("closing the store: got error %v", err)
	}
	// The ID goes into logs: it tells keys apart and tells nothing of them.
	ids := map[string]bool{}
	for _, key := range []string{a, b} {
		grant, refusal, err := d.Authenticate(t.Context(), key)
		id := grant.KeyID
		if err != nil || refusal != keys.Accepted || !regexp.MustCompile(`^fixed-[0-9a-f]{8}$`).MatchString(id) {
			t.Errorf("%q: got id %q, %v, error %v, want it opened as fixed-…", key, id, refusal, err)
		}
		if grant.ReadOnly {
			t.Errorf("%q: got it read-only, want a fixed key that may do everything", key)
		}
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("got %d ids, want 2", len(ids))
	}
	for _, wrong := range []string{a + "x", a[1:], strings.ToUpper(a), "", "fixed-", a + " "} {
		d.wantRefused(t, wrong)
	}
	d.wantLookups(t, 0)
}
