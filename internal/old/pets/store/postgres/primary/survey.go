package primary

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// host is the result of a survey for one host.
type host struct {
	server
	standbys int   // synchronous standbys that stream from it; -1 where unknown
	err      error // why it cannot be reached or accepts no writes
}

// survey asks every host at once. It takes no longer than d.
func survey(ctx context.Context, configs []*pgx.ConnConfig, d time.Duration) []host {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	hosts := make([]host, len(configs))
	var asking sync.WaitGroup
	for i, config := range configs {
		asking.Go(func() { hosts[i] = ask(ctx, config) })
	}
	asking.Wait()
	return hosts
}

func ask(ctx context.Context, config *pgx.ConnConfig) (h host) {
	config = config.Copy()
	config.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) (err error) {
		h.server, err = identify(ctx, c)
		return err
	}
	h.err = once(ctx, config, func(c *pgx.Conn) error {
		h.standbys = countSynchronous(ctx, c)
		return nil
	})
	return h
}

// eachHost splits the configuration of several hosts. A host may have two
// entries, with and without TLS.
func eachHost(config *pgx.ConnConfig) (hosts []*pgx.ConnConfig) {
	all := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for i, f := range all {
		if i > 0 && f.Host == all[i-1].Host && f.Port == all[i-1].Port {
			last := hosts[len(hosts)-1]
			last.Fallbacks = append(last.Fallbacks, f)
			continue
		}
		c := config.Copy()
		c.Host, c.Port, c.TLSConfig, c.Fallbacks = f.Host, f.Port, f.TLSConfig, nil
		hosts = append(hosts, c)
	}
	return hosts
}
