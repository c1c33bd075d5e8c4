package store

import (
	"regexp"
	"strings"

	"example.com/petstore/internal/store/postgres"
)

// maySecret matches texts in which a password may stand: a URL, user:password@
// and password=.
var maySecret = regexp.MustCompile(`(?i)://|:.*@|pass\w*\s*=`)

// Redact returns address for log lines and messages, without a password. For an
// address that Open rejects, it may return just the scheme.
func Redact(address string) string {
	if isPostgres(address) {
		return postgres.Redact(address)
	}
	if Kind(address) != "" {
		return address
	}
	scheme, _, found := strings.Cut(address, ":")
	switch {
	case strings.ContainsAny(scheme, "@= "): // as psql takes it, perhaps
		return "…"
	case found:
		return scheme + ":…"
	default:
		return address
	}
}
