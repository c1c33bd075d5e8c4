package main

import "testing"

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
