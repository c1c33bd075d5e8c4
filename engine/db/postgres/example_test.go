package postgres_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/postgres"
)

// A table is written and read, on the newest primary of two hosts.
func Example() {
	notebook := postgres.Schema{Name: "notebook", Migrations: fstest.MapFS{
		"00001_notes.sql": {Data: []byte("-- +goose Up\nCREATE TABLE notebook.notes (text text NOT NULL);")},
	}}
	ctx := context.Background()
	d, err := notebook.Open(ctx, "postgres://ann@db1,db2/notes?sslmode=verify-full", db.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	err = d.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "INSERT INTO notebook.notes (text) VALUES ('Call Ann')")
		return err
	})
	if err != nil {
		log.Print(err)
		return
	}
	var n int
	err = d.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT count(*) FROM notebook.notes").Scan(&n)
	})
	fmt.Println(n, err)
}
