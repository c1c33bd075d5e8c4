package logging

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How much of a value is written, in bytes before it is escaped. A client
// chooses paths, methods and more; an error may carry a stack.
const (
	maxValue = 256
	maxError = 16 << 10
)

// errorKey is the attribute that may be longer, as may the message.
const errorKey = "error"

const redacted = "REDACTED"

// maxDecodings bounds how often a value is decoded to look for a secret. A client or
// a proxy that encodes a path once more by mistake does so once or twice.
const maxDecodings = 8

// redactor keeps secrets and long texts out of the log.
type redactor struct {
	secrets []string       // longest first: one may hold another
	keys    *regexp.Regexp // what looks like a key; nil matches nothing
	prefix  string         // what every key begins with
}

func newRedactor(o Options) redactor {
	r := redactor{secrets: slices.DeleteFunc(slices.Clone(o.Secrets), func(s string) bool { return s == "" }), keys: o.KeyPattern}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	if r.keys != nil {
		r.prefix, _ = r.keys.LiteralPrefix()
	}
	return r
}

// clean returns s as it may be written. Secrets are taken out before s is cut, or
// a part of one might stay.
func (r redactor) clean(key, s string) string {
	s = r.withoutEncoded(s)
	limit := maxValue
	if key == errorKey || key == slog.MessageKey {
		limit = maxError
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", s[:limit], len(s))
}

// withoutEncoded returns s without secrets, however often they are percent-encoded,
// in whole or in part: a secret that decoding finds leaves the decoded text, without
// it. A text that can be decoded more than maxDecodings times is not written.
func (r redactor) withoutEncoded(s string) string {
	text, found := s, false
	for range maxDecodings + 1 {
		clean := r.withoutSecrets(text)
		found = found || clean != text
		if text = decoded(clean); text == clean {
			if found {
				return text
			}
			return s
		}
	}
	return redacted
}

func (r redactor) withoutSecrets(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	if r.keys != nil && strings.Contains(s, r.prefix) {
		s = r.keys.ReplaceAllLiteralString(s, r.prefix+redacted)
	}
	return s
}

// decoded returns s with its percent-encodings decoded once. A percent sign that
// begins none stays.
func decoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if octet, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(octet))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// replace is slog's ReplaceAttr.
func (r redactor) replace(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.clean(a.Key, a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(r.clean(a.Key, v.Error()))
		case *slog.Source, slog.Level:
		default:
			a.Value = slog.StringValue(r.clean(a.Key, fmt.Sprint(v)))
		}
	}
	return a
}
