package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// terminalColumns returns the width of the terminal behind w, and 0 where there
// is none.
func terminalColumns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// visible returns s fit for a terminal. It escapes, as Go does, characters that
// would move the cursor, colour the text or change its direction, and bytes that
// are not UTF-8. Line ends stay.
func visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !showable(r) || r == unicode.ReplacementChar }) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == unicode.ReplacementChar && s[i] != "\ufffd"[0]:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case showable(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func showable(r rune) bool { return unicode.IsPrint(r) || r == '\n' }

// columnsOf returns how many columns of a terminal s takes. Characters of East
// Asia and pictures take two, marks above and below others none.
func columnsOf(s string) (n int) {
	for _, r := range s {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut returns s, or its beginning and an ellipsis, in at most n columns.
func cut(s string, n int) string {
	if columnsOf(s) <= n {
		return s
	}
	used := 1 // of the ellipsis
	for i, r := range s {
		if used += columnsOfRune(r); used > n {
			return s[:i] + "…"
		}
	}
	return s
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
