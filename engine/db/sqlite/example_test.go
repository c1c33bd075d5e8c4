package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/sqlite"
)

var (
	books = sqlite.Schema{
		Migrations: fstest.MapFS{"00001_books.sql": { // or an embed.FS
			Data: []byte("-- +goose Up\nCREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL);\n"),
		}},
		Tables: []string{"books"},
	}
	insertBook  = books.Statement("INSERT INTO books (title) VALUES (?) RETURNING id")
	selectTitle = books.Statement("SELECT title FROM books WHERE id = ?")
)

func Example() {
	dir, err := os.MkdirTemp("", "books")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	d, err := books.Open(ctx, filepath.Join(dir, "books.db"), db.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	var id int64
	err = d.Write(ctx, func(conn sqlite.Conn) error { return conn.Stmt(insertBook).QueryRow("Emma").Scan(&id) })
	if err != nil {
		log.Fatal(err)
	}
	var title string
	err = d.Read(ctx, func(conn sqlite.Conn) error { return conn.Stmt(selectTitle).QueryRow(id).Scan(&title) })
	fmt.Println(id, title, err)
	// Output: 1 Emma <nil>
}
