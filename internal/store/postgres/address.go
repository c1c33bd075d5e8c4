package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

	// pingAfter is how long a connection may be idle until it is pinged before
	// its next use. A statement sent to a server that died meanwhile would have
	// an unknown outcome; one that is not sent is safe to refuse.
	pingAfter = 20 * time.Millisecond
)

// parse reads the address. Its errors do not show the password.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err == nil && Redact(dsn) == hidden {
		err = errors.New("`: an @ is where none can be")
	}
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "`: ") // pgx repeats the address before it
		return nil, fmt.Errorf("the store address is malformed: %s; give postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE, with %%40 for an @ in the password", reason)
	}
	if !strings.Contains(dsn, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	config.PingTimeout = connectTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > pingAfter
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "petstore"
	}
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.ValidateConnect == nil { // no target_session_attrs in the address
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.OnNotice = keepWarning
	return config, nil
}

const hidden = "postgres://…"

// Redact returns the address for log lines and messages: without the password
// and the parameters, which may have one too. It hides the whole address if a
// part of the password might be taken for another part.
func Redact(dsn string) string {
	address, query, _ := strings.Cut(dsn, "?")
	scheme, rest, _ := strings.Cut(address, "://")
	user, hosts, hasUser := strings.Cut(rest, "@")
	if _, err := pgconn.ParseConfig(dsn); err != nil || hasUser && strings.Contains(user, "/") || strings.Contains(hosts+query, "@") {
		return hidden
	}
	if name, _, hasPassword := strings.Cut(user, ":"); hasUser && hasPassword {
		return scheme + "://" + name + ":xxxxx@" + hosts
	}
	return address
}
