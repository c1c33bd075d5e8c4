package main

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWhatSteersATerminalIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"Rex, 日本 🐕 é\nand more":  "Rex, 日本 🐕 é\nand more",
		"\x1b[31mred\x07":        `\x1b[31mred\a`,
		"a\u202eb\u2066c\u200fd": `a\u202eb\u2066c\u200fd`,
		"a\rb\tc\x00\x7f":        `a\rb\tc\x00\x7f`,
		"\u0085\u009b":           `\u0085\u009b`,
		"a\xffb\ufffd\xc3":       "a\\xffb\ufffd\\xc3",
		"\u00a0":                 `\u00a0`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestATextIsCutToTheColumnsThereAre(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"Frank", 5, "Frank"},
		{"Frank", 4, "Fra…"},
		{"Frank", 1, "…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := cut(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: got %q, want %q", c.text, c.columns, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "columns")
		if got := columnsOf(cut(text, n)); got > n {
			t.Errorf("%q in %d columns: got %d of them", text, n, got)
		}
	})
}
