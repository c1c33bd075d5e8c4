package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// How many bytes of a line of the log a value may take. Together they are less than 2 KiB:
// a line has one text or error, and three other values that a client or a file names.
const (
	textLimit  = 900 // of a message or an error, which may have a stack
	valueLimit = 200
)

// newLogger returns a logger that writes to out, and cuts what is long.
func newLogger(out *printer, level slog.Level, asJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch kind := a.Value.Kind(); {
		case kind != slog.KindString && kind != slog.KindAny:
			return a
		case a.Key == slog.LevelKey:
			if level, ok := a.Value.Any().(slog.Level); ok { // as text, it needs no encoding/json
				return slog.String(a.Key, level.String())
			}
		case a.Key == slog.MessageKey || a.Key == "error":
			return slog.String(a.Key, out.cut(a.Value.String(), textLimit))
		}
		return slog.String(a.Key, out.cut(a.Value.String(), valueLimit))
	}}
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// printer writes text. It escapes what could move a terminal's cursor, colour the text or
// change its direction, hides secrets, and knows whether the text can be written.
type printer struct {
	io.Writer
	pattern *regexp.Regexp // of secrets; nil for none
	secrets [][]byte       // others, the longest first, because others may be parts of it

	mu     sync.Mutex
	since  time.Time // when the first Write began that has failed or not returned; zero if the last succeeded
	failed []byte    // what the last Write failed to write
}

// hide makes p hide what matches pattern, and secrets.
func (p *printer) hide(pattern *regexp.Regexp, secrets []string) {
	p.pattern = pattern
	for _, secret := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		p.secrets = append(p.secrets, []byte(secret))
	}
}

func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	p.failed = nil
	if p.since.IsZero() {
		p.since = time.Now()
	}
	p.mu.Unlock()
	_, err := p.Writer.Write(printable(p.withoutSecrets(text)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = bytes.Clone(text)
	} else {
		p.since = time.Time{}
	}
	return len(text), err
}

// blocked reports whether nothing could be written for 5 s. It tries again what failed,
// because a server that is not ready may have nothing else to write.
func (p *printer) blocked() bool {
	p.mu.Lock()
	failed := p.failed
	p.failed = nil
	p.mu.Unlock()
	if failed != nil {
		_, _ = p.Write(failed) // which notes the error
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.since.IsZero() && time.Since(p.since) > 5*time.Second
}

func (p *printer) withoutSecrets(text []byte) []byte {
	if p.pattern != nil && p.pattern.Match(text) {
		text = p.pattern.ReplaceAllLiteral(text, []byte("REDACTED"))
	}
	for _, secret := range p.secrets {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte("REDACTED"))
		}
	}
	return text
}

// cut returns text, or its beginning and a mark if it would take more than limit bytes of
// the log. Secrets are hidden first, because a part of one would not be recognised.
func (p *printer) cut(text string, limit int) string {
	if len(text)*len(`\u001b`) <= limit || fitting(text, limit) == len(text) {
		return text
	}
	text = string(p.withoutSecrets([]byte(text)))
	if n := fitting(text, limit); n < len(text) {
		return text[:n] + "...(cut)"
	}
	return text
}

// fitting returns the length of the longest beginning of text that takes at most limit
// bytes of the log, where some characters are escaped.
func fitting(text string, limit int) int {
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == '"' || r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			size = len(`\u001b`) * utf16.RuneLen(r)
		}
		if limit -= size; limit < 0 {
			return i
		}
	}
	return len(text)
}

// printable escapes, as JSON does, all but line feeds, tabs and what is visible.
func printable(text []byte) []byte {
	if !slices.ContainsFunc(text, func(b byte) bool { return b < ' ' && b != '\n' && b != '\t' || b > '~' }) {
		return text // as most is
	}
	var out []byte
	for _, r := range string(text) { // an invalid byte is U+FFFD
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
