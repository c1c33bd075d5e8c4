package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// host is one server of an address. A name with several addresses is several hosts.
type host struct {
	name    string
	port    uint16
	address string // only if the name has several
}

func (h host) String() string {
	return net.JoinHostPort(cmp.Or(h.address, h.name), strconv.Itoa(int(h.port)))
}

// targets returns what pgx would try, one after the other: hosts, and with sslmode=prefer each without TLS, too.
func targets(c *pgx.ConnConfig) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// hosts returns the hosts of c, and whether they have several names.
func hosts(ctx context.Context, c *pgx.ConnConfig) (all []host, several bool) {
	ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	seen := map[host]bool{}
	for _, t := range targets(c) {
		h := host{name: t.Host, port: t.Port}
		if seen[h] {
			continue
		}
		seen[h] = true
		var addresses []string
		if !strings.HasPrefix(h.name, "/") {
			addresses, _ = c.LookupFunc(ctx, h.name) // connecting repeats an error
		}
		if len(addresses) < 2 {
			addresses = []string{""}
		}
		for _, h.address = range addresses {
			all = append(all, h)
		}
	}
	return all, len(seen) > 1
}

// only makes c connect to h alone.
func (h host) only(c *pgx.ConnConfig) {
	same := slices.DeleteFunc(targets(c), func(t *pgconn.FallbackConfig) bool { return t.Host != h.name || t.Port != h.port })
	if len(same) == 0 { // a service file has changed
		return
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = h.name, h.port, same[0].TLSConfig, same[1:]
	if h.address != "" {
		c.LookupFunc = func(context.Context, string) ([]string, error) { return []string{h.address}, nil }
	}
}

// searchError has the reason of each host that is no primary.
type searchError struct {
	reasons []error
	several bool // the address names several hosts
}

func (e searchError) Unwrap() []error { return e.reasons }

func (e searchError) Error() string {
	var texts []string
	for _, err := range e.reasons {
		if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			err = connect.Unwrap() // names the host, with and without TLS
		}
		texts = append(texts, slices.Compact(strings.Split(err.Error(), "\n"))...)
	}
	return strings.Join(texts, "; ")
}

// use makes c connect to the primary found last, or searches it. Callers share one search.
func (s Schema) use(ctx context.Context, c *pgx.ConnConfig, known *lineage) error {
	primary := known.primary.Load()
	if primary == nil {
		found, err, _ := known.search.Do("", func() (any, error) {
			h, err := s.find(context.WithoutCancel(ctx), c, known)
			known.primary.Store(h)
			return h, err
		})
		if err != nil {
			return err
		}
		primary = found.(*host)
	}
	primary.only(c)
	return nil
}

// find asks the hosts of c, if there are several, and returns the newest primary. Each is asked
// alone, side by side, because pgx asks no further host after some errors.
func (s Schema) find(ctx context.Context, c *pgx.ConnConfig, known *lineage) (*host, error) {
	all, several := hosts(ctx, c)
	if len(all) == 1 {
		return &all[0], nil
	}
	type answer struct {
		host
		session
		err error
	}
	answers := make([]answer, len(all))
	var asked sync.WaitGroup
	for i, h := range all {
		a, one := &answers[i], c.Copy()
		a.host = h
		h.only(one)
		one.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) (err error) {
			a.session, err = s.ask(ctx, c, known)
			return err
		}
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
			defer cancel()
			conn, err := pgx.ConnectConfig(ctx, one)
			if a.err = err; err == nil {
				_ = conn.Close(ctx)
			}
		})
	}
	asked.Wait()
	slices.SortStableFunc(answers, func(a, b answer) int { return b.compare(a.position) }) // the newest first
	var primary *answer
	var reasons []error
	for i, a := range answers {
		if a.err == nil {
			if a.err = known.admit(a.host.String(), a.session); a.err != nil {
				a.err = fmt.Errorf("%s: %w", a.host, a.err)
			}
		}
		switch {
		case a.err != nil:
			reasons = append(reasons, a.err)
		case primary == nil:
			primary = &answers[i]
		case a.timeline != "" && a.timeline == primary.timeline && a.started != primary.started:
			known.logOnce(slog.LevelError, "two PostgreSQL servers are primaries on one timeline: stop the one that is wrong",
				fmt.Sprint(primary.host, a.host), "used", primary.host, "its_position", primary.flushed, "other", a.host, "other_position", a.flushed)
		}
	}
	if primary == nil {
		return nil, searchError{reasons, several}
	}
	return &primary.host, nil
}
