package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
)

// NewLogger returns a logger that writes text, or a JSON object, on each line.
func NewLogger(out io.Writer, level slog.Level, asJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// Filter is a writer that hides secrets, replaces characters that could control a terminal or
// change the direction of text, cuts long lines, and reports when writing has failed.
type Filter struct {
	io.Writer
	Limit   int            // maximum bytes of one Write; 0 for no limit
	pattern *regexp.Regexp // of secrets; nil for none
	secrets [][]byte       // others, the longest first, because others may be parts of it

	since  atomic.Pointer[time.Time] // start of the first Write that has failed or not returned; nil after a success
	failed atomic.Pointer[[]byte]    // what could not be written last; nil once it is retried
}

// Hide makes p hide secrets, and what matches pattern.
func (p *Filter) Hide(pattern *regexp.Regexp, secrets []string) {
	p.pattern = pattern
	for _, secret := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		p.secrets = append(p.secrets, []byte(secret))
	}
}

func (p *Filter) Write(text []byte) (int, error) {
	p.since.CompareAndSwap(nil, new(time.Now()))
	_, err := p.Writer.Write(p.shorten(p.clean(text)))
	if err != nil {
		p.failed.Store(new(bytes.Clone(text)))
	} else {
		p.since.Store(nil)
	}
	return len(text), err
}

// Blocked reports whether nothing could be written for 5 s. It retries what failed, because a
// server that is not ready may have nothing else to write.
func (p *Filter) Blocked() bool {
	if failed := p.failed.Swap(nil); failed != nil {
		_, _ = p.Write(*failed) // which records the error
	}
	since := p.since.Load()
	return since != nil && time.Since(*since) > 5*time.Second
}

// clean hides secrets, and replaces all but visible characters, line feeds and tabs.
func (p *Filter) clean(text []byte) []byte {
	for _, secret := range p.secrets { // first, because the pattern may match only a part of one
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte("REDACTED"))
		}
	}
	if p.pattern != nil && p.pattern.Match(text) {
		text = p.pattern.ReplaceAllLiteral(text, []byte("REDACTED"))
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
	return unicode.ReplacementChar
}

// shorten returns text if it has at most limit bytes. Otherwise it cuts the long strings of a
// JSON object, or the middle of any other text. The text must be clean: a part of a secret
// would not be recognised.
func (p *Filter) shorten(text []byte) []byte {
	if p.Limit == 0 || len(text) <= p.Limit {
		return text
	}
	const mark = "...(cut)..."
	var line map[string]any
	if json.Unmarshal(text, &line) != nil {
		half := (p.Limit - len(mark)) / 2
		begin, end := text[:half], bytes.TrimLeft(text[len(text)-half:], `\"`) // the quote may have been escaped
		return slices.Concat(bytes.ToValidUTF8(begin, nil), []byte(mark), bytes.ToValidUTF8(end, nil))
	}
	for limit := p.Limit / 2; len(text) > p.Limit && limit > 0; limit /= 2 {
		for name, value := range line {
			if value, ok := value.(string); ok && len(value) > limit {
				line[name] = strings.ToValidUTF8(value[:limit], "") + mark
			}
		}
		text, _ = json.Marshal(line)
		text = append(text, '\n')
	}
	return text
}
