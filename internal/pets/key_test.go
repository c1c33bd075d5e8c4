package pets_test

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func mustKey(t *testing.T) (pets.Key, string) {
	t.Helper()
	k, token, err := pets.NewKey("someone", noon, 0)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	return k, token
}

func TestATokenHasTheFormThatSecretScannersLookFor(t *testing.T) {
	form := regexp.MustCompile(`^psk_([0-9A-Za-z]{8})_[0-9A-Za-z]{36}$`)
	seen := map[string]bool{}
	var digits [128]int
	for range 500 {
		k, token := mustKey(t)
		m := form.FindStringSubmatch(token)
		if m == nil || m[1] != k.ID {
			t.Fatalf("token: got %q with id %q, want psk_<id>_<36 characters>", token, k.ID)
		}
		if id, ok := pets.KeyIDOf(token); !ok || id != k.ID {
			t.Errorf("id of %q: got %q, %v, want %q", token, id, ok, k.ID)
		}
		if seen[token] || seen[k.ID] {
			t.Errorf("got token %q or its id twice, want each once", token)
		}
		seen[token], seen[k.ID] = true, true
		if k.Hash != pets.HashToken(token) {
			t.Errorf("hash of %q: got another, want HashToken's", token)
		}
		for _, c := range token[13:43] {
			digits[c]++
		}
	}
	// 15,000 digits give each about 242; one that never comes has an odds of e^-242.
	for _, c := range base62 {
		if digits[c] == 0 {
			t.Errorf("digit %q: got it in no secret, want every digit used", c)
		}
	}
}

func TestAKeyKeepsWhatItWasMadeWith(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	k, _, err := pets.NewKey("Ops: “nightly” import", noon.Add(999*time.Millisecond).In(zone), 90*time.Minute)
	if err != nil {
		t.Fatalf("making a key: got error %v", err)
	}
	if k.Name != "Ops: “nightly” import" {
		t.Errorf("name: got %q, want it as given", k.Name)
	}
	if k.CreatedAt != noon {
		t.Errorf("created: got %v, want %v, in UTC and whole seconds", k.CreatedAt, noon)
	}
	if want := noon.Add(90 * time.Minute); k.ExpiresAt != want {
		t.Errorf("expires: got %v, want %v", k.ExpiresAt, want)
	}
	if !k.RevokedAt.IsZero() {
		t.Errorf("revoked: got %v, want never", k.RevokedAt)
	}
	if k, _ := mustKey(t); !k.ExpiresAt.IsZero() {
		t.Errorf("a key without a lifetime: got expiry %v, want none", k.ExpiresAt)
	}
}

func TestTheNameOfAKeyIsPrintableAndShort(t *testing.T) {
	for _, name := range []string{"x", " ", "nightly import", "日本 🐕", strings.Repeat("é", pets.MaxKeyName)} {
		if _, _, err := pets.NewKey(name, noon, 0); err != nil {
			t.Errorf("%q: got error %v, want a key", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", pets.MaxKeyName+1), "a\nb", "a\tb", "a\x00b", "\x1b[31m", "a\u202eb", "a\u00a0b", "a\u2028b", "\xff", "\u200b"} {
		k, token, err := pets.NewKey(name, noon, 0)
		if pets.KindOf(err) != pets.Invalid || err == nil || token != "" || k != (pets.Key{}) {
			t.Errorf("%q: got key %v, token %q, error %v, want only an invalid error", name, k, token, err)
		}
	}
	if _, token, err := pets.NewKey("x", noon, -time.Second); pets.KindOf(err) != pets.Invalid || err == nil || token != "" {
		t.Errorf("a negative lifetime: got token %q, error %v, want invalid", token, err)
	}
}

func TestTheChecksumCatchesEveryWrongCharacter(t *testing.T) {
	for range 20 {
		_, token := mustKey(t)
		for i := range len(token) {
			for _, c := range base62 + "_-~ \x00é" {
				typo := token[:i] + string(c) + token[i+1:]
				if id, ok := pets.KeyIDOf(typo); ok && typo != token {
					t.Fatalf("%q instead of %q: got id %q, want it refused", typo, token, id)
				}
			}
		}
	}
}

func TestTheChecksumCatchesEverySwapOfNeighbours(t *testing.T) {
	for range 200 {
		_, token := mustKey(t)
		for i := range len(token) - 1 {
			b := []byte(token)
			b[i], b[i+1] = b[i+1], b[i]
			if id, ok := pets.KeyIDOf(string(b)); ok && string(b) != token {
				t.Fatalf("%q instead of %q: got id %q, want it refused", b, token, id)
			}
		}
	}
}

func TestWhatIsNotFormedLikeATokenHasNoID(t *testing.T) {
	_, token := mustKey(t)
	for what, s := range map[string]string{
		"empty":             "",
		"the prefix":        "psk_",
		"cut at the end":    token[:len(token)-1],
		"cut at the start":  token[1:],
		"one more":          token + "0",
		"a space after":     token + " ",
		"other case":        strings.ToUpper(token),
		"other prefix":      "PSK_" + token[4:],
		"doubled":           token + token,
		"zeros":             "psk_00000000_" + strings.Repeat("0", 36),
		"dashes in the id":  sealed("psk_ab-cd-ef_" + strings.Repeat("0", 30)),
		"NUL in the id":     sealed("psk_abc\x00defg_" + strings.Repeat("0", 30)),
		"bytes in the id":   sealed("psk_abc\xffdefg_" + strings.Repeat("0", 30)),
		"a short id":        sealed("psk_abcdefg_" + strings.Repeat("0", 31)),
		"a long id":         sealed("psk_abcdefghi_" + strings.Repeat("0", 29)),
		"no second line":    sealed("psk_abcdefgh0" + strings.Repeat("0", 30)),
		"quotes in secret":  sealed("psk_abcdefgh_'" + strings.Repeat("0", 29)),
		"a line in secret":  sealed("psk_abcdefgh__" + strings.Repeat("0", 29)),
		"letters of others": sealed("psk_abcdefgh_é" + strings.Repeat("0", 28)),
	} {
		if id, ok := pets.KeyIDOf(s); ok || id != "" {
			t.Errorf("%s, %q: got id %q, %v, want none", what, s, id, ok)
		}
	}
	if id, ok := pets.KeyIDOf(sealed("psk_abcdefgh_" + strings.Repeat("0", 30))); !ok || id != "abcdefgh" {
		t.Errorf("a well-formed token: got %q, %v, want its id", id, ok)
	}
}

// sealed appends the checksum that body must have: CRC-32 in six digits of
// base 62. It stands here a second time so that the form cannot change unseen.
func sealed(body string) string {
	sum, digits := crc32.ChecksumIEEE([]byte(body)), ""
	for range 6 {
		digits = string(base62[sum%62]) + digits
		sum /= 62
	}
	return body + digits
}

func TestAKeyOpensWithItsTokenWhileItIsActive(t *testing.T) {
	k, token := mustKey(t)
	_, other := mustKey(t)
	expiring := k
	expiring.ExpiresAt = noon.Add(time.Hour)
	revoked := k
	revoked.RevokedAt = noon.Add(time.Hour)
	both := expiring
	both.RevokedAt = noon
	for _, c := range []struct {
		what  string
		key   pets.Key
		at    time.Time
		state pets.KeyState
	}{
		{"a lasting key", k, noon, pets.KeyActive},
		{"a lasting key much later", k, noon.AddDate(100, 0, 0), pets.KeyActive},
		{"just before its expiry", expiring, noon.Add(time.Hour - 1), pets.KeyActive},
		{"at its expiry", expiring, noon.Add(time.Hour), pets.KeyExpired},
		{"after its expiry", expiring, noon.Add(time.Hour + 1), pets.KeyExpired},
		{"a revoked key", revoked, noon.Add(2 * time.Hour), pets.KeyRevoked},
		// The clocks of two machines may differ: revoked is revoked.
		{"a key revoked in the future", revoked, noon, pets.KeyRevoked},
		{"a revoked and expired key", both, noon.Add(2 * time.Hour), pets.KeyRevoked},
	} {
		if got := c.key.State(c.at); got != c.state {
			t.Errorf("%s: got state %q, want %q", c.what, got, c.state)
		}
		if got, want := c.key.HasHash(pets.HashToken(token)), true; got != want {
			t.Errorf("%s: got opens %v, want %v", c.what, got, want)
		}
		for _, wrong := range []string{other, "", token + "0", strings.ToLower(token)} {
			if c.key.HasHash(pets.HashToken(wrong)) {
				t.Errorf("%s with %q: got opened, want refused", c.what, wrong)
			}
		}
	}
	if (pets.Key{}).HasHash(pets.HashToken("")) {
		t.Error("the zero key with an empty token: got opened, want refused")
	}
}

func TestAKeyDoesNotContainItsToken(t *testing.T) {
	k, token := mustKey(t)
	if shown := fmt.Sprintf("%v %+v %#v %s", k, k, k, k.Hash); strings.Contains(shown, token[13:]) {
		t.Errorf("got %q, want nothing of the secret", shown)
	}
}
