//go:build unix

// Package pgtest gives tests a real PostgreSQL server: the server that
// PETSTORE_TEST_POSTGRES names, or throwaway servers from the programs of this
// machine. It never skips: a test without a server fails and says how to get
// one.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names a server to use instead of the one that tests share, as an
// address of a user who may create databases: postgres://USER:PASSWORD@HOST/DATABASE.
// Tests that kill, hang or configure a server have throwaway ones all the same.
const Variable = "PETSTORE_TEST_POSTGRES"

// shared is the server of a test binary, found or started when first asked for.
var shared struct {
	once    sync.Once
	address string
	server  *Server // nil where Variable names one
	err     error
}

// template is the data folder that the servers of a test binary are copied from.
// A copy takes a third of the processor time of initdb.
var template struct {
	used bool // whether Main removes it
	once sync.Once
	from *Server
	err  error
}

// Main runs the tests of a package and stops the shared server: call it in
// TestMain.
func Main(m *testing.M) int {
	template.used = true
	defer func() {
		for _, s := range []*Server{shared.server, template.from} {
			if s != nil {
				s.remove()
			}
		}
	}()
	return m.Run()
}

// Database returns the address of a new, empty database on the server that the
// tests of this binary share.
func Database(t testing.TB) string {
	t.Helper()
	return CreateDatabase(t, sharedAddress(t), "")
}

// sharedAddress returns the address of any database of the shared server. There
// is no password in it: a test that fails may print it.
func sharedAddress(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if given := os.Getenv(Variable); given != "" {
			shared.address, shared.err = withoutPassword(given)
			return
		}
		if shared.server, shared.err = start(nil); shared.err == nil {
			shared.address = shared.server.Address("postgres")
		}
	})
	if shared.err != nil {
		t.Fatalf("this test needs a PostgreSQL server: %v", shared.err)
	}
	return shared.address
}

// withoutPassword takes the password out of an address and leaves it where pgx
// looks for it, in this process and in those it starts.
func withoutPassword(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") || u.Host == "" {
		return "", fmt.Errorf("%s is no address of a server; give postgres://USER:PASSWORD@HOST/DATABASE", Variable)
	}
	query := u.Query()
	password, ok := u.User.Password()
	if !ok {
		password = query.Get("password")
	}
	if password == "" {
		return address, nil
	}
	u.User = url.User(u.User.Username())
	query.Del("password")
	u.RawQuery = query.Encode()
	return u.String(), os.Setenv("PGPASSWORD", password)
}

// CreateDatabase creates a database with these options of CREATE DATABASE on
// the server at address and returns its address. It is dropped after the test.
func CreateDatabase(t testing.TB, address, options string) string {
	t.Helper()
	return createDatabase(t, t, address, options)
}

// createDatabase creates a database for t, which is dropped after owner.
func createDatabase(t, owner testing.TB, address, options string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, address, "CREATE DATABASE "+name+" "+options)
	owner.Cleanup(func() {
		// The server may be gone with the test, and its databases with it.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if c, err := pgx.Connect(ctx, address); err == nil {
			_, _ = c.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			_ = c.Close(ctx)
		}
	})
	return withDatabase(t, address, name)
}

func withDatabase(t testing.TB, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("the address of the test server does not parse")
	}
	u.Path = "/" + name
	return u.String()
}

// Exec runs statements on the database at address, with a connection of its own.
func Exec(t testing.TB, address string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test server: got error %v", err)
	}
	defer c.Close(ctx)
	for _, statement := range statements {
		if _, err := c.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: got error %v", statement, err)
		}
	}
}

// Query returns the one value that a query of the database at address has.
func Query[T any](t testing.TB, address, query string, args ...any) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test server: got error %v", err)
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: got error %v", query, err)
	}
	return value
}

// Eventually waits until check holds, and fails the test where it does not
// within the time given.
func Eventually(t testing.TB, within time.Duration, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !check(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

func missing() error {
	return errors.New("the programs of PostgreSQL are not there; run: apt-get install postgresql")
}

// Lock runs a statement in a transaction that lasts until release is called, or
// the test ends.
func Lock(t testing.TB, address, statement string) (release func()) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test server: got error %v", err)
	}
	release = sync.OnceFunc(func() { _ = c.Close(ctx) })
	t.Cleanup(release)
	tx, err := c.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, statement)
	}
	if err != nil {
		t.Fatalf("%s: got error %v", statement, err)
	}
	return release
}
