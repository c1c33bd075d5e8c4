package keys

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCheckFixed(t *testing.T) {
	for token, valid := range map[string]bool{
		"0123456789abcdef": true, "AZaz09-._~+/AZaz": true, "0123456789abcd==": true,
		"": false, "0123456789abcde": false, "================": false, "0123456789 abcdef": false,
		"0123456789abcdef\n": false, "0123456789=abcdef": false, "0123456789abcdéf": false,
	} {
		err := fmt.Sprint(CheckFixed([]string{"a-fixed-key-of-the-operator", token, "third-key-of-three"}))
		ok := strings.Contains(err, "key 2 of 3") && !strings.Contains(err, "0123") && !strings.Contains(err, "operator")
		if valid && err != "<nil>" || !valid && !ok {
			t.Errorf("%q: got error %s, want valid: %v, and no key in it", token, err, valid)
		}
	}
}

func TestNew(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	var digits [30]map[byte]bool // those at each place of a secret
	for range 400 {
		got, token, err := New("someone", noon.Add(999*time.Millisecond).In(time.FixedZone("east", 3600)), 90*time.Minute)
		want := Key{Name: "someone", Hash: Hash(token), CreatedAt: noon, ExpiresAt: noon.Add(90 * time.Minute)}
		if want.ID, _ = ID(token); err != nil || want.ID == "" || got != want {
			t.Fatalf("got %+v, token %q, error %v, want %+v", got, token, err, want)
		}
		if Pattern.FindString(token) != token || !Pattern.MatchString(token[:20]) {
			t.Errorf("Pattern: got no match of %q", token)
		}
		secret := token[13:43]
		if seen[got.ID] || seen[secret] || strings.Contains(secret[1:], secret[:8]) {
			t.Errorf("got an ID or a secret twice: %q", token)
		}
		seen[got.ID], seen[secret] = true, true
		for i := range digits {
			if digits[i] == nil {
				digits[i] = map[byte]bool{}
			}
			digits[i][secret[i]] = true
		}
	}
	for i, found := range digits { // each is one of 62; less than 50 in 400 happens once in 10^20
		if len(found) < 50 {
			t.Errorf("place %d of a secret: got only %d digits", i, len(found))
		}
	}
	for name, valid := range map[string]bool{
		"Ops: “nightly” import": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false,
		"": false, "a\nb": false, "a\x00b": false, "a\u202eb": false, "\xff": false, "\u200b": false,
	} {
		if _, token, err := New(name, noon, 0); (err == nil) != valid || (token == "") == valid {
			t.Errorf("%q: got token %q, error %v, want valid: %v", name, token, err, valid)
		}
	}
	if _, token, err := New("someone", noon, -1); err == nil || token != "" {
		t.Errorf("with a negative lifetime: got token %q, error %v, want an error", token, err)
	}
}

func TestID(t *testing.T) {
	zeros := strings.Repeat("0", 36)
	sealed := func(body string) string { return body + checksum(body) }
	token := sealed("psk_abcdefgh_" + zeros[:30])
	if id, ok := ID(token); !ok || id != "abcdefgh" || checksum("123456789") != "3jZRME" { // which stays
		t.Errorf("ID: got %q, %v, want abcdefgh", id, ok)
	}
	for _, junk := range []string{
		"", "psk_", token[1:], token[:len(token)-1], token + "0", token + "\n", token[:20] + "~" + token[21:], "psk_abcdefgh_" + zeros,
		sealed("psk_abc\x00defg_" + zeros[:30]), sealed("psk_abcdefg_" + zeros[:30]),
		sealed("psk_abcdefgh__" + zeros[:29]), sealed(strings.ToUpper("psk_abcdefgh_") + zeros[:30]),
	} {
		if id, ok := ID(junk); ok || id != "" {
			t.Errorf("ID(%q): got %q, %v, want none", junk, id, ok)
		}
	}
}
