package postgres

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maxConns is the size of each of the two pools unless the address has
	// pool_max_conns. PostgreSQL allows 100 connections by default.
	maxConns = 16

	// connectTimeout bounds connecting to one host unless the address has
	// connect_timeout, and the ping of an idle connection. pgx tries the hosts
	// one after the other, so it must be well below outageWait.
	connectTimeout = 500 * time.Millisecond
)

// parse reads the address. Its errors do not show the password.
func parse(dsn string) (*pgxpool.Config, error) {
	where := Redact(dsn)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil || where == hidden {
		base, query, _ := strings.Cut(dsn, "?")
		if _, baseErr := pgxpool.ParseConfig(base); err != nil && baseErr == nil && !strings.Contains(strings.ToLower(query), "pass") {
			_, reason, _ := strings.Cut(err.Error(), "`: ")
			return nil, fmt.Errorf("the store address %s has a parameter that is not accepted: %s", where, reason)
		}
		return nil, fmt.Errorf("the store address %s is malformed: give postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE, with %%40 for an @ in the password", where)
	}
	switch attrs := parameter(dsn, "target_session_attrs"); attrs {
	case "", "read-write", "primary":
	default:
		return nil, fmt.Errorf("the store address asks for target_session_attrs=%s, but only the primary is used: leave it out", attrs)
	}
	c := config.ConnConfig
	if parameter(dsn, "pool_max_conns") == "" {
		config.MaxConns = maxConns
	}
	if parameter(dsn, "default_query_exec_mode") == "" {
		// Prepared statements do not survive PgBouncer's transaction pooling.
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "petstore"
	}
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	c.OnNotice = keepWarning
	config.PingTimeout = connectTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || readable(p.Conn.PgConn().Conn())
	}
	return config, nil
}

// parameter returns a parameter of the address, or "".
func parameter(dsn, name string) string {
	_, query, _ := strings.Cut(dsn, "?")
	values, _ := url.ParseQuery(query) // pgx has accepted it
	return values.Get(name)
}

// hidden is shown for an address in which the password cannot be told apart.
const hidden = "postgres://…"

// hostsAndDatabase matches what follows the user and the password.
var hostsAndDatabase = regexp.MustCompile(`^[^:/@]*(:\d+)?(,[^:/@]*(:\d+)?)*(/[^@]*)?$`)

// Redact returns the address for log lines and messages, without the password.
func Redact(dsn string) string {
	scheme, rest, _ := strings.Cut(dsn, "://")
	rest, query, hasQuery := strings.Cut(rest, "?")
	user, hosts, hasUser := strings.Cut(rest, "@")
	if !hasUser {
		user, hosts = "", rest
	}
	if !hostsAndDatabase.MatchString(bracketed.ReplaceAllString(hosts, "ip")) || strings.Contains(query, "@") || strings.ContainsFunc(dsn, unicode.IsControl) {
		return hidden // a part of the password may stand where another part should
	}
	if name, _, hasPassword := strings.Cut(user, ":"); hasPassword {
		user = name + ":xxxxx"
	}
	redacted := scheme + "://"
	if hasUser {
		redacted += user + "@"
	}
	redacted += hosts
	for i, pair := range strings.Split(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(pair); err != nil || strings.Contains(strings.ToLower(plain), "pass") {
			pair = name + "=xxxxx"
		}
		if hasQuery {
			redacted += []string{"?", "&"}[min(i, 1)] + pair
		}
	}
	return redacted
}

// bracketed matches an IPv6 address.
var bracketed = regexp.MustCompile(`\[[0-9A-Fa-f:.]+\]`)
