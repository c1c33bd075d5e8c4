package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/engine/db"
)

// Defaults, unless the address sets them.
const (
	maxConns       = 32          // half for reads, half for writes; PostgreSQL allows 100 in all
	maxIdleTime    = time.Minute // other processes may want the connection
	connectTimeout = time.Second // for one host, including login and checks; several hosts must fit into outageWait
)

// parse parses the address of a database. Its errors do not contain the password.
func (s Schema) parse(address string) (*pgxpool.Config, error) {
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
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout)
	c.RuntimeParams["application_name"] = cmp.Or(c.RuntimeParams["application_name"], s.Name)
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.RuntimeParams["DateStyle"] = "ISO" // the only one that pgx reads
	c.OnNotice = keepWarning
	return config, nil
}

// unverified returns the remote hosts whose certificate is not verified, unless the address disables TLS.
func unverified(address string, c *pgx.ConnConfig) (hosts []string) {
	first := &pgconn.FallbackConfig{Host: c.Host, TLSConfig: c.TLSConfig}
	for _, h := range append([]*pgconn.FallbackConfig{first}, c.Fallbacks...) {
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
	host      = `((?:[\w.-]|%2[fF])*|\[[\da-fA-F:.]+\])(:\d{1,5})?`
	password  = `:[^/?#@]*@`
	login     = `([\w.-]*(@|` + password + `))?`
	printable = regexp.MustCompile(`^postgres(ql)?://` + login + host + `(,` + host + `)*(/[\w.-]*)?(\?[^@]*)?$`)
)

// Redact returns address without its password and parameters, or nothing of it if they are ambiguous.
func Redact(address string) string {
	if !printable.MatchString(address) {
		return "postgres://…"
	}
	plain, _, _ := strings.Cut(address, "?")
	return regexp.MustCompile(password).ReplaceAllString(plain, ":xxxxx@")
}

// errNotDialed is the error of dialing any but the wanted server.
var errNotDialed = errors.New("another server is the primary")

// dialOnly makes c connect to the server at address, and to no other.
func dialOnly(c *pgx.ConnConfig, address string) {
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, other string) (net.Conn, error) {
		if other != address {
			return nil, errNotDialed
		}
		return dial(ctx, network, other)
	}
}

// dialed returns what pgx dials to connect to the hosts of c, each once. A name may have several addresses.
func dialed(ctx context.Context, c *pgx.ConnConfig) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	c = c.Copy()
	c.DialFunc = func(_ context.Context, _, address string) (net.Conn, error) {
		if !slices.Contains(all, address) { // sslmode=prefer dials it again
			all = append(all, address)
		}
		return nil, errNotDialed
	}
	_, err = pgx.ConnectConfig(ctx, c)
	return all, err
}

// find asks each server of c alone, since pgx stops at some errors, and returns the address of the newest primary.
func (d *DB) find(ctx context.Context, c *pgx.ConnConfig) (string, error) {
	all, lookup := dialed(ctx, c)
	if len(all) < 2 {
		return "", nil // connecting repeats an error
	}
	type server struct {
		session
		err error
	}
	servers := make([]server, len(all))
	var asked sync.WaitGroup
	for i, address := range all {
		s, one := &servers[i], c.Copy()
		dialOnly(one, address)
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
			defer cancel()
			conn, err := pgx.ConnectConfig(ctx, one)
			if err == nil {
				s.session, err = d.ask(ctx, conn)
				_ = conn.Close(ctx)
			}
			s.host, s.err = address, err
		})
	}
	asked.Wait()
	slices.SortStableFunc(servers, func(a, b server) int { return b.compare(a.position) }) // the newest first
	var primary session
	errs := []error{lookup}
	for _, s := range servers {
		if s.err == nil {
			s.err = d.admit(s.session)
		}
		switch {
		case s.err != nil:
			errs = append(errs, s.err)
		case primary.host == "":
			primary = s.session
		case s.timeline != "" && s.timeline == primary.timeline && s.started != primary.started:
			d.logOnce(slog.LevelError, "two PostgreSQL servers are primaries on one timeline: stop the one that is wrong",
				"used", primary.host, "its_position", primary.flushed, "other", s.host, "other_position", s.flushed)
		}
	}
	if primary.host == "" {
		return "", unreachable(errors.Join(errs...))
	}
	return primary.host, nil
}

// unreachable returns db.ErrUnreachable with the reasons that err joins, in one line.
func unreachable(err error) error {
	text := strings.Join(slices.Compact(reasons(err)), "; ")
	if pgconn.Timeout(err) {
		text += "; if the network is slow, set connect_timeout=SECONDS in the address"
	}
	return fmt.Errorf("%w: %s", db.ErrUnreachable, text)
}

// reasons returns the texts of the errors that err joins.
func reasons(err error) (texts []string) {
	if connect, ok := err.(*pgconn.ConnectError); ok {
		err = connect.Unwrap() // which names the servers
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			texts = append(texts, reasons(err)...)
		}
	} else if !errors.Is(err, errNotDialed) {
		texts = strings.Split(err.Error(), "\n")
	}
	return texts
}
