package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/engine/db/postgres"
	"example.com/petstore/internal/pets"
)

// insertApart inserts an idempotency key and its pet by two statements, because the two rows may
// be on different nodes of Citus. It needs the warnings of nodes, which Citus passes on as DEBUG.
func insertApart(ctx context.Context, c *pgx.Conn, key []any, made *pets.Pet) error {
	tellNodes := pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL client_min_messages = debug1"}
	return pgx.BeginTxFunc(ctx, c, tellNodes, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, insertIdempotencyKey, key...).Scan(&made.ID)
		if err == nil {
			_, err = tx.Exec(ctx, insertPetOfKey, fields(made)...)
		}
		return postgres.NotCommitted(err)
	})
}
