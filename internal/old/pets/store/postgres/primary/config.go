package primary

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// maxConns is how many connections there may be for writes, and how many for
// reads, where the address has no pool_max_conns. PostgreSQL allows 100 in all by
// default: three replicas.
const maxConns = 16

// CheckAddress returns an error, without a password in it, where Open would refuse
// the address without asking a server.
func CheckAddress(address string) error {
	_, err := parse(address)
	return err
}

// parse reads the address. It hides the parser's own error, which repeats the
// address and sometimes the password.
func parse(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		if pair := badParameter(address); pair != "" {
			return nil, fmt.Errorf("the store address %s has a parameter that is no such thing or names a file that is not there: %s", Redact(address), pair)
		}
	}
	if err != nil || hasStrayAt(address) {
		return nil, fmt.Errorf("the store address %s is malformed: give postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE, with %%40 for an @ in the password", Redact(address))
	}
	switch attrs := parameter(address, "target_session_attrs"); attrs {
	case "", "read-write", "primary":
	default:
		return nil, fmt.Errorf("the store address asks for target_session_attrs=%s, but this program uses the primary only: leave it out", attrs)
	}
	if parameter(address, "pool_max_conns") == "" {
		config.MaxConns = maxConns
	}
	config.PingTimeout = connectTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > time.Second || readable(p.Conn.PgConn().Conn())
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "petstore"
	}
	c.OnNotice = keepWarning
	c.DialFunc = trackDial(c.DialFunc)
	return config, nil
}
