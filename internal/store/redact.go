package store

import (
	"regexp"
	"strings"

	"example.com/petstore/internal/store/postgres"
)

// maySecret matches strings that may contain a password: a URL, user:password@
// or password=.
var maySecret = regexp.MustCompile(`(?i)://|:.*@|pass\w*\s*=`)

// Redact returns address without its password, for logs and error messages. For
// an address that Open rejects, it may return only the scheme.
func Redact(address string) string {
	if isPostgres(address) {
		return postgres.Redact(address)
	}
	if Kind(address) != "" {
		return address
	}
	scheme, _, found := strings.Cut(address, ":")
	switch {
	case strings.ContainsAny(scheme, "@= "): // perhaps a connection string for psql
		return "…"
	case found:
		return scheme + ":…"
	default:
		return address
	}
}
