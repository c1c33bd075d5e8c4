package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// printable replaces characters that could move a terminal's cursor, colour the
// text or change its direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func printJSON(out io.Writer, result any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// outcome adds to the error of a command what it has done. If a signal ended ctx, the
// error is that.
func outcome(ctx context.Context, err error, done string) error {
	return fmt.Errorf("%w; %s", cmp.Or(context.Cause(ctx), err), done)
}

// printed adds to an error from printing a result what was done.
func printed(done string, err error) error {
	if err != nil {
		return fmt.Errorf("%s, but printing the result failed: %w", done, err)
	}
	return nil
}

// progress returns a function that prints progress at a terminal, at most every
// two seconds.
func progress(env environment) func(format string, args ...any) {
	printed := time.Now()
	return func(format string, args ...any) {
		if env.terminal && time.Since(printed) >= 2*time.Second {
			printed = time.Now()
			fmt.Fprintf(env.stderr, format+"\n", args...)
		}
	}
}
