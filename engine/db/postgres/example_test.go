package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/postgres"
)

var books = postgres.Schema{
	Name: "library",
	Migrations: fstest.MapFS{"00001_books.sql": { // or an embed.FS
		Data: []byte("-- +goose Up\nCREATE TABLE library.books (id bigint GENERATED ALWAYS AS IDENTITY, title text NOT NULL);\n"),
	}},
}

// No server listens on port 1, so this writes and reads nothing.
func Example() {
	const address = "postgres://ann:secret@127.0.0.1:1/books?sslmode=disable"
	ctx := context.Background()
	d, err := books.Open(ctx, address, db.Options{})
	if errors.Is(err, db.ErrUnreachable) {
		fmt.Println("start PostgreSQL at", postgres.Redact(address))
		return
	}
	defer d.Close()
	var id int64
	err = d.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "INSERT INTO library.books (title) VALUES ('Emma') RETURNING id").Scan(&id)
	})
	fmt.Println(id, err)
	// Output: start PostgreSQL at postgres://ann:xxxxx@127.0.0.1:1/books
}
