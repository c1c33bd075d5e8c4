package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printer writes text. It escapes what could move a terminal's cursor, colour the text or
// change its direction, hides secrets, and knows whether the text is read.
type printer struct {
	io.Writer
	pattern *regexp.Regexp            // of secrets; nil for none
	secrets []string                  // others, the longest first, because others may be parts of it
	began   atomic.Pointer[time.Time] // of the Write in progress, if any
}

// hide makes p hide what matches pattern, and secrets.
func (p *printer) hide(pattern *regexp.Regexp, secrets []string) {
	p.pattern = pattern
	p.secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
}

func (p *printer) Write(text []byte) (int, error) {
	now := time.Now()
	p.began.Store(&now)
	defer p.began.Store(nil)
	shown := text
	if p.pattern != nil {
		shown = p.pattern.ReplaceAllLiteral(shown, []byte("REDACTED"))
	}
	for _, secret := range p.secrets {
		shown = bytes.ReplaceAll(shown, []byte(secret), []byte("REDACTED"))
	}
	_, err := p.Writer.Write(printable(shown))
	return len(text), err
}

// blocked reports whether text has not been written for 5 s.
func (p *printer) blocked() bool {
	began := p.began.Load()
	return began != nil && time.Since(*began) > 5*time.Second
}

// printable escapes, as JSON does, all but line feeds, tabs and what is visible.
func printable(text []byte) []byte {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if utf8.Valid(text) && !bytes.ContainsFunc(text, hidden) {
		return text
	}
	var out []byte
	for _, r := range string(text) { // an invalid byte is U+FFFD
		if !hidden(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
