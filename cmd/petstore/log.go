package main

import (
	"bytes"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// How many bytes of a line of the log a value may take. Together they are less than 2 KiB,
// which syslog takes whole (RFC 5424): a line has one text or error, and three other values
// that a client or a file names.
const (
	textLimit  = 900 // of a message or an error, which may have a stack
	valueLimit = 200
)

// newLogger returns a logger that writes to out, and cuts what is long.
func newLogger(out *printer, level slog.Level, asJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		limit := valueLimit
		switch a.Key {
		case slog.LevelKey:
			if level, ok := a.Value.Any().(slog.Level); ok {
				return slog.String(a.Key, level.String()) // which allocates nothing, unlike Value.String
			}
		case slog.MessageKey, "error":
			limit = textLimit
		}
		if kind := a.Value.Kind(); kind == slog.KindString || kind == slog.KindAny {
			a.Value = slog.StringValue(out.cut(a.Value.String(), limit))
		}
		return a
	}}
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// printer writes text. It replaces what could move a terminal's cursor, colour the text or
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
	_, err := p.Writer.Write(p.clean(text))
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

// clean hides secrets, and replaces all but line feeds, tabs and what is visible.
func (p *printer) clean(text []byte) []byte {
	if p.pattern != nil && p.pattern.Match(text) {
		text = p.pattern.ReplaceAllLiteral(text, []byte("REDACTED"))
	}
	for _, secret := range p.secrets {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte("REDACTED"))
		}
	}
	if !isPlain(text) {
		text = bytes.Map(visible, text)
	}
	return text
}

// isPlain reports whether text is visible ASCII, as nearly every line of the log is.
func isPlain(text []byte) bool {
	for _, c := range text {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// visible returns r if it is a line feed, a tab or visible, and U+FFFD otherwise.
func visible(r rune) rune {
	if unicode.IsPrint(r) || r == '\n' || r == '\t' {
		return r
	}
	return utf8.RuneError
}

// cut returns text, or its beginning and a mark if it would take more than limit bytes of
// the log. Long text is cleaned first: a part of a secret would not be recognised, and
// what is left takes one more byte at most if it is escaped.
func (p *printer) cut(text string, limit int) string {
	if len(text)*len(`\u001b`) <= limit {
		return text
	}
	text = string(p.clean([]byte(text)))
	for i, r := range text {
		limit -= utf8.RuneLen(r)
		if strings.ContainsRune("\n\t\"\\", r) {
			limit--
		}
		if limit < 0 {
			return text[:i] + "...(cut)"
		}
	}
	return text
}
