package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// What holds unless the address sets it.
const (
	maxConns    = 16          // of each of the two pools; PostgreSQL allows 100 in all
	maxIdleTime = time.Minute // other processes may want the connection

	// connectTimeout bounds connecting to one host, with the login and the check of the
	// session. pgx tries one after the other, so it must be well below outageWait.
	connectTimeout = time.Second
)

// parse parses dsn. Its errors never contain the password.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err == nil && Redact(dsn) == hidden {
		err = errors.New("`: unexpected @")
	}
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "`: ") // cut off the address, which pgx repeats
		return nil, fmt.Errorf("the store address is malformed: %s; in a password, write @ as %%40", reason)
	}
	if !strings.Contains(dsn, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	if !strings.Contains(dsn, "pool_max_conn_idle_time=") {
		config.MaxConnIdleTime = maxIdleTime
	}
	config.PingTimeout = connectTimeout
	c := config.ConnConfig
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout)
	c.RuntimeParams["application_name"] = cmp.Or(c.RuntimeParams["application_name"], name)
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.OnNotice = keepWarning
	return config, nil
}

const hidden = "postgres://…"

// Redact returns dsn without the password and the parameters, which may contain one, too,
// or nothing of it unless it is clear where the password begins and ends.
func Redact(dsn string) string {
	address, query, _ := strings.Cut(dsn, "?")
	scheme, rest, _ := strings.Cut(address, "://")
	user, hosts, hasUser := strings.Cut(rest, "@")
	_, err := pgconn.ParseConfig(dsn)
	if err != nil || hasUser && strings.Contains(user, "/") || strings.Contains(hosts+query, "@") {
		return hidden
	}
	if name, _, hasPassword := strings.Cut(user, ":"); hasUser && hasPassword {
		return scheme + "://" + name + ":xxxxx@" + hosts
	}
	return address
}
