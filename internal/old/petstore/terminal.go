package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns s fit for a terminal. It escapes, as Go does, characters that
// would move the cursor, colour the text or change its direction, and bytes that
// are not UTF-8. Line ends stay.
func visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		text := s[:size]
		invalid := r == utf8.RuneError && size == 1
		if r != '\n' && !unicode.IsPrint(r) || invalid {
			text = strings.Trim(strconv.Quote(text), `"`)
		}
		b.WriteString(text)
		s = s[size:]
	}
	return b.String()
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
