package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
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

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
