package edge

import (
	"strings"
	"testing"
)

func TestATokenIsOfRFC6750sCharacters(t *testing.T) {
	for token, want := range map[string]bool{
		"x": true, "0": true, "a=": true, "a==": true, "a======": true, "-._~+/": true, "mF_9.B5f-4.1JqM": true,
		"": false, "=": false, "===": false, "=a": false, "a=b": false, " ": false, "a b": false, "a ": false, "\ta": false,
		"a\n": false, "a\x00": false, "a,b": false, "a;b": false, `"a"`: false, "a%": false, "é": false, "\xff": false,
		"a:b": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false, "a*": false,
	} {
		if got := isToken(token); got != want {
			t.Errorf("%q: got %v, want %v", token, got, want)
		}
	}
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	for c := range 256 {
		s := string([]byte{'a', byte(c), 'a'})
		if got, want := isToken(s), strings.IndexByte(allowed, byte(c)) >= 0; got != want {
			t.Errorf("%q: got %v, want %v", s, got, want)
		}
	}
}
