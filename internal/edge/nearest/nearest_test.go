package nearest

import (
	"strings"
	"testing"
)

func TestTheNearestNameDiffersLeast(t *testing.T) {
	known := []string{"categoryId", "name", "status"}
	for name, want := range map[string]string{
		"naem": "name", "NAME": "name", "Status": "status", "category_id": "categoryId", "nam": "name",
		"": "name", strings.Repeat("é", 1<<16): "categoryId",
	} {
		if got, _ := Name(name, known); name != strings.Repeat("é", 1<<16) && got != want {
			t.Errorf("nearest to %.20q: got %q, want %q", name, got, want)
		}
	}
	for pair, want := range map[[2]string]int{
		{"limit", "limit"}: 0, {"lmit", "limit"}: 1, {"RATELIMIT", "RATE_LIMIT"}: 1, {"", "abc"}: 3, {"abc", ""}: 3,
		{"kitten", "sitting"}: 3, {"äb", "ab"}: 1,
	} {
		if _, got := Name(pair[0], []string{pair[1]}); got != want {
			t.Errorf("distance of %q and %q: got %d, want %d", pair[0], pair[1], got, want)
		}
	}
	if got, _ := Name("x", nil); got != "" {
		t.Errorf("nearest of none: got %q, want none", got)
	}
}
