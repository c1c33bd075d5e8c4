package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout bounds connecting to one host, where the address does not
	// say otherwise, and asking an idle connection whether it lives. It stays
	// well below patience and the edge's deadline of a request (8 s), since
	// hosts are tried one after the other.
	connectTimeout = 500 * time.Millisecond

	// maxConns is how many connections there may be for writing, and how many for
	// reading, where the address has no pool_max_conns. PostgreSQL allows 100 in
	// all by default: three replicas.
	maxConns = 16

	// closeTimeout bounds each step of Close, together below the 20 s that
	// serve gives the requests under way.
	closeTimeout = 5 * time.Second
)

// parse reads the address. It takes nothing of the parser's own error, which
// repeats the address and with it, in some cases, the password.
func parse(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		if pair := unfit(address); pair != "" {
			return nil, fmt.Errorf("the store address %s has a parameter that is no such thing or names a file that is not there: %s", Redact(address), pair)
		}
	}
	if err != nil || hasStrayAt(address) {
		return nil, fmt.Errorf("the store address %s is malformed: give postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE, with %%40 for an @ in the password", Redact(address))
	}
	switch attrs := parameter(address, "target_session_attrs"); attrs {
	case "", "read-write", "primary":
	default:
		return nil, fmt.Errorf("the store address asks for target_session_attrs=%s, but pets are read from the primary only: leave it out", attrs)
	}
	if parameter(address, "pool_max_conns") == "" {
		config.MaxConns = maxConns
	}
	config.PingTimeout = connectTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || hasNews(p.Conn.PgConn().Conn())
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "petstore"
	}
	c.OnNotice = keepWarning
	c.DialFunc = dialKnowing(c.DialFunc)
	return config, nil
}

// unfit returns the parameter that keeps an address from being read, without a
// password in it, or all where it is not one alone, or "" where it is none.
func unfit(address string) string {
	rest, query, _ := strings.Cut(address, "?")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		others := slices.Concat(pairs[:i], pairs[i+1:])
		if _, err := pgxpool.ParseConfig(rest + "?" + strings.Join(others, "&")); err == nil {
			return redactParameter(pair)
		}
	}
	if _, err := pgxpool.ParseConfig(rest); err == nil { // two of them, or two that belong together
		return redactParameters(pairs)
	}
	return ""
}

// hasStrayAt reports whether there is an @ beside the one that ends the
// password: probably the password has it, and a part of it passes for a host.
func hasStrayAt(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	return strings.Count(authority, "@") > 1 || strings.Contains(path, "@")
}

// parameter returns the value of a parameter of the address, or "".
func parameter(address, name string) string {
	_, query, _ := strings.Cut(address, "?")
	values, _ := url.ParseQuery(query) // pgxpool has taken it
	return values.Get(name)
}

// Redact returns the address without passwords, whether it is well formed or
// not: where it is in doubt what is a password, nothing is shown.
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

// redactParameter hides the value of a parameter that may hold a password, in
// its name's meaning or behind a stray separator.
func redactParameter(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	plain, err := url.QueryUnescape(pair)
	if err != nil || strings.Contains(strings.ToLower(plain), "pass") {
		return name + "=xxxxx"
	}
	return pair
}

// plainHosts matches hosts with or without ports, and what follows a slash.
var plainHosts = regexp.MustCompile(`^[^:/@]*(:\d+)?(,[^:/@]*(:\d+)?)*(/.*)?$`)

// once runs f with a connection of its own.
func once(ctx context.Context, config *pgx.ConnConfig, f func(*pgx.Conn) error) error {
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	// Closing says goodbye, for which nothing needs to wait.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	return errors.Join(f(c), c.Close(closing))
}

// checkEncoding refuses a database that cannot hold every name: in any other
// encoding than UTF8 some text has no bytes, or (SQL_ASCII) any bytes are text.
func checkEncoding(ctx context.Context, config *pgx.ConnConfig) error {
	return once(ctx, config, func(c *pgx.Conn) error {
		encoding, err := setting(ctx, c, "server_encoding")
		if err == nil && encoding != "UTF8" {
			err = fmt.Errorf("its encoding is %s and not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
		}
		return err
	})
}

// RequireSync returns an error where the server would acknowledge a commit that
// no standby has: where the primary's death could lose it.
func (s *Store) RequireSync(ctx context.Context) error {
	return once(ctx, s.config.ConnConfig, func(c *pgx.Conn) error {
		standbys, err := setting(ctx, c, "synchronous_standby_names")
		if err != nil {
			return err
		}
		commit, err := setting(ctx, c, "synchronous_commit")
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(standbys) == "":
			return errors.New("--require-sync: the server waits for no standby, since its synchronous_standby_names is empty; set it, or leave out --require-sync")
		case commit == "off" || commit == "local":
			return fmt.Errorf("--require-sync: the server waits for no standby, since its synchronous_commit is %s; set it to on, or leave out --require-sync", commit)
		}
		return nil
	})
}

func setting(ctx context.Context, c *pgx.Conn, name string) (value string, err error) {
	err = c.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}
