package keys_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/keys"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func newKey(t *testing.T, lifetime time.Duration) (keys.Key, string) {
	t.Helper()
	k, token, err := keys.New("someone", noon, lifetime)
	if err != nil {
		t.Fatalf("New: got error %v", err)
	}
	return k, token
}

func TestNew(t *testing.T) {
	page, err := os.ReadFile("../../.github/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile("^" + regexp.MustCompile(`(?m)^\w+_\[.*}$`).FindString(string(page)) + "$")
	seen := map[string]bool{}
	for range 200 {
		k, token := newKey(t, 0)
		if id, ok := keys.ID(token); !ok || id != k.ID || !pattern.MatchString(token) || k.Hash != keys.Hash(token) {
			t.Fatalf("New: got token %q of %+v, ID %q, %v", token, k, id, ok)
		}
		if keys.Pattern.FindString(token) != token || !keys.Pattern.MatchString(token[:20]) {
			t.Errorf("Pattern: got no match of %q", token)
		}
		if seen[k.ID] || seen[token[13:43]] {
			t.Errorf("New: got an ID or a secret twice: %q", token)
		}
		seen[k.ID], seen[token[13:43]] = true, true
	}
	got, token, err := keys.New("Ops: “nightly” import", noon.Add(999*time.Millisecond).In(time.FixedZone("east", 3600)), 90*time.Minute)
	want := keys.Key{ID: got.ID, Name: "Ops: “nightly” import", Hash: keys.Hash(token), CreatedAt: noon, ExpiresAt: noon.Add(90 * time.Minute)}
	if err != nil || got != want {
		t.Errorf("New: got %+v, error %v, want %+v", got, err, want)
	}
}

func TestNewInvalid(t *testing.T) {
	for _, name := range []string{"x", " ", "日本 🐕", strings.Repeat("é", 100)} {
		if _, _, err := keys.New(name, noon, 0); err != nil {
			t.Errorf("New(%q): got error %v", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 101), "a\nb", "a\x00b", "\x1b[31m", "a\u202eb", "a\u2028b", "\xff", "\u200b"} {
		if _, token, err := keys.New(name, noon, 0); err == nil || token != "" {
			t.Errorf("New(%q): got token %q, error %v, want an error", name, token, err)
		}
	}
	if _, token, err := keys.New("x", noon, -1); err == nil || token != "" {
		t.Errorf("New with a negative lifetime: got token %q, error %v, want an error", token, err)
	}
}

func TestID(t *testing.T) {
	// A token of an earlier release.
	if id, ok := keys.ID(sealed("psk_abcdefgh_" + strings.Repeat("0", 30))); !ok || id != "abcdefgh" {
		t.Errorf("ID: got %q, %v, want abcdefgh", id, ok)
	}
	_, token := newKey(t, 0)
	junk := []string{
		"", "psk_", token[1:], token[:len(token)-1], token + "0", token + token, strings.ToUpper(token[:4]) + token[4:],
		"psk_00000000_" + strings.Repeat("0", 36),
		sealed("psk_abc\x00defg_" + strings.Repeat("0", 30)),
		sealed("psk_abcdefg_" + strings.Repeat("0", 31)),
		sealed("psk_abcdefghi_" + strings.Repeat("0", 29)),
		sealed("psk_abcdefgh__" + strings.Repeat("0", 29)),
		sealed(strings.ToUpper("psk_") + "abcdefgh_" + strings.Repeat("0", 30)),
	}
	for i := range token { // any wrong character, any two swapped
		for _, c := range base62 + "_-~ " {
			junk = append(junk, token[:i]+string(c)+token[i+1:])
		}
		if i > 0 {
			junk = append(junk, token[:i-1]+token[i:i+1]+token[i-1:i]+token[i+1:])
		}
	}
	for _, s := range junk {
		if id, ok := keys.ID(s); s != token && (ok || id != "") {
			t.Errorf("ID(%q): got %q, %v, want none", s, id, ok)
		}
	}
}

// sealed appends the checksum.
func sealed(body string) string {
	sum, digits := crc32.ChecksumIEEE([]byte(body)), ""
	for range 6 {
		digits = fmt.Sprintf("%c%s", base62[sum%62], digits)
		sum /= 62
	}
	return body + digits
}

func TestState(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		expires, revoked time.Time
		want             keys.State
	}{
		{want: keys.Active},
		{expires: now.Add(1), want: keys.Active},
		{expires: now, want: keys.Expired},
		{revoked: now.Add(time.Hour), want: keys.Revoked},
		{expires: now, revoked: now, want: keys.Revoked},
	} {
		if got := (keys.Key{ExpiresAt: c.expires, RevokedAt: c.revoked}).State(now); got != c.want {
			t.Errorf("State of a key that expires %v and was revoked %v: got %v, want %v", c.expires, c.revoked, got, c.want)
		}
	}
}
