package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Defaults, unless the address sets them.
const (
	maxConns       = 16          // for writes, and as many for reads; PostgreSQL allows 100 in all
	maxIdleTime    = time.Minute // other processes may want the connection
	connectTimeout = time.Second // for one host, including login and checks; several hosts must fit into outageWait
)

// parse parses the address of a database. Its errors do not contain the password.
func (s Schema) parse(address string, known *lineage) (*pgxpool.Config, error) {
	if unclear.MatchString(address) {
		return nil, errors.New("the store address is malformed: it is unclear where the password is; " +
			"write : before it, and in it @ as %40 and / as %2F")
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "`: ") // cut off the address, which pgx repeats
		return nil, fmt.Errorf("the store address, or a variable or file that completes it, is invalid: %s", reason)
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	if !strings.Contains(address, "pool_max_conn_idle_time=") {
		config.MaxConnIdleTime = maxIdleTime
	}
	config.PingTimeout = connectTimeout
	c := config.ConnConfig
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error { return s.validate(ctx, conn, known) }
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout)
	c.RuntimeParams["application_name"] = cmp.Or(c.RuntimeParams["application_name"], s.Name)
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.RuntimeParams["DateStyle"] = "ISO" // the only one that pgx reads
	c.OnNotice = keepWarning
	return config, nil
}

// unverified returns the remote hosts whose certificate is not verified, unless the address disables TLS.
func unverified(address string, c *pgx.ConnConfig) (hosts []string) {
	for _, h := range targets(c) {
		local := strings.HasPrefix(h.Host, "/") || h.Host == "localhost" || net.ParseIP(h.Host).IsLoopback()
		verified := h.TLSConfig != nil && (!h.TLSConfig.InsecureSkipVerify || h.TLSConfig.VerifyPeerCertificate != nil)
		if !local && !verified && !strings.Contains(address, "sslmode=disable") {
			hosts = append(hosts, h.Host)
		}
	}
	return slices.Compact(hosts)
}

// unclear matches addresses whose password is ambiguous: with %3A before it, or an unescaped @ or / in it.
var unclear = regexp.MustCompile(`(?is)^[^:]*://([^:@/?#]*%3A|[^@]*@.*@|[^@]*[/?#].*@)`)

// printable matches addresses that need escapes only in the password, the parameters and a socket's path.
var (
	hostForm  = `((?:[\w.-]|%2[fF])*|\[[\da-fA-F:.]+\])(:\d{1,5})?`
	password  = `:[^/?#@]*@`
	login     = `([\w.-]*(@|` + password + `))?`
	printable = regexp.MustCompile(`^postgres(ql)?://` + login + hostForm + `(,` + hostForm + `)*(/[\w.-]*)?(\?[^@]*)?$`)
)

const hidden = "postgres://…"

// Redact returns address without its password and parameters, or nothing of it if they are ambiguous.
func Redact(address string) string {
	if !printable.MatchString(address) {
		return hidden
	}
	plain, _, _ := strings.Cut(address, "?")
	return regexp.MustCompile(password).ReplaceAllString(plain, ":xxxxx@")
}
