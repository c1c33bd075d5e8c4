package logging

import (
	"cmp"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
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
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, redacted)
		}
	}
	if r.keys != nil && strings.Contains(s, r.prefix) {
		s = r.keys.ReplaceAllLiteralString(s, r.prefix+redacted)
	}
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
