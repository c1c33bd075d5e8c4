package primary

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// once runs f with a connection of its own.
func once(ctx context.Context, config *pgx.ConnConfig, f func(*pgx.Conn) error) error {
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	// Close sends a farewell that needs no response.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	return errors.Join(f(c), c.Close(closing))
}

// Setting returns the value of a setting in a session.
func Setting(ctx context.Context, c *pgx.Conn, name string) (value string, err error) {
	err = c.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}
