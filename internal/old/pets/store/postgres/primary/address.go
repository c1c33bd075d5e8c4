package primary

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgxpool"
)

// badParameter returns the parameter that makes an address invalid, without a
// password in it; all parameters where no single one does; "" where none does.
func badParameter(address string) string {
	rest, query, _ := strings.Cut(address, "?")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		others := slices.Concat(pairs[:i], pairs[i+1:])
		if _, err := pgxpool.ParseConfig(rest + "?" + strings.Join(others, "&")); err == nil {
			return redactParameter(pair)
		}
	}
	if _, err := pgxpool.ParseConfig(rest); err == nil { // two are wrong, or two belong together
		return redactParameters(pairs)
	}
	return ""
}

// hasStrayAt reports whether the address has a second @: probably the password
// has it, and a part of the password is read as a host.
func hasStrayAt(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	return strings.Count(authority, "@") > 1 || strings.Contains(path, "@")
}

// parameter returns the value of a parameter of the address, or "".
func parameter(address, name string) string {
	_, query, _ := strings.Cut(address, "?")
	values, _ := url.ParseQuery(query) // pgxpool has accepted it
	return values.Get(name)
}

// Redact returns the address without passwords, well formed or not. Where it
// could be mistaken about the password, it shows nothing.
func Redact(address string) string {
	const nothing = "postgres://…"
	scheme, rest, _ := strings.Cut(address, "://")
	rest, query, found := strings.Cut(rest, "?")
	if strings.Contains(query, "@") { // perhaps the end of a password with a ?
		return nothing
	}
	if strings.ContainsFunc(address, unicode.IsControl) { // it would not be one line
		return nothing
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		user, _, hasPassword := strings.Cut(rest[:i], ":")
		if hasPassword {
			user += ":xxxxx"
		}
		rest = user + rest[i:]
	} else if !plainHosts.MatchString(rest) { // perhaps a password without a host
		return nothing
	}
	if !found {
		return scheme + "://" + rest
	}
	return scheme + "://" + rest + "?" + redactParameters(strings.Split(query, "&"))
}

func redactParameters(pairs []string) string {
	redacted := make([]string, len(pairs))
	for i, pair := range pairs {
		redacted[i] = redactParameter(pair)
	}
	return strings.Join(redacted, "&")
}

// redactParameter hides the value of a parameter whose name or value suggests a
// password.
func redactParameter(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	plain, err := url.QueryUnescape(pair)
	if err != nil || strings.Contains(strings.ToLower(plain), "pass") {
		return name + "=xxxxx"
	}
	return pair
}

// plainHosts matches hosts with or without ports, and a path.
var plainHosts = regexp.MustCompile(`^[^:/@]*(:\d+)?(,[^:/@]*(:\d+)?)*(/.*)?$`)
