package sqlite

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // for a connection beside the store's

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/storetest"
)

func newAddress(t testing.TB) string { return prefix + filepath.Join(t.TempDir(), "pets.db") }

func open(t testing.TB) storetest.Opened { return storetest.Open(t, Kind, newAddress(t)) }

// connect connects to the file of a store as another tool would.
func connect(s storetest.Opened) *sql.DB {
	conn, _ := sql.Open("sqlite", Kind.Path(s.Address)) // fails only without the driver
	return conn
}

func sqlOn(t testing.TB, s storetest.Opened, query string, args ...any) {
	conn := connect(s)
	_, err := conn.ExecContext(t.Context(), query, args...)
	require.NoError(t, errors.Join(err, conn.Close()))
}

func TestKind(t *testing.T) {
	for _, path := range []string{"me@home.db", "/a:b/me@home.db", "./a:b@home.db", "pass=1 word.db", "backup-12:00.db"} {
		assert.True(t, Kind.Matches(prefix+path), path)
		assert.Equal(t, path, Kind.Path(prefix+path))
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Kind: Kind, Address: newAddress,
		Change: func(t testing.TB, s storetest.Opened, p pets.Pet) {
			sqlOn(t, s, "INSERT OR REPLACE INTO pets ("+petColumns+") VALUES (?"+strings.Repeat(", ?", len(fields(&p))-1)+")", fields(&p)...)
		},
		Remove: func(t testing.TB, s storetest.Opened, id int64) {
			sqlOn(t, s, "DELETE FROM pets WHERE id = ?", id)
		},
		Last: func(t testing.TB, s storetest.Opened, id int64) {
			sqlOn(t, s, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'pets'", id)
		},
		Age: func(t testing.TB, s storetest.Opened, key pets.IdempotencyKey, by time.Duration) {
			sqlOn(t, s, "UPDATE idempotency_keys SET created_at = created_at - ? WHERE key = ? AND key_id = ?",
				int64(by.Seconds()), key.Key, key.KeyID)
		},
		Batch: 50,
	})
}

// TestSequenceLost lacks AUTOINCREMENT's row, like the .dump of a damaged file: identifiers still grow.
func TestSequenceLost(t *testing.T) {
	s := open(t)
	storetest.Fill(t, s, 2)
	sqlOn(t, s, "DELETE FROM pets WHERE id = 1")
	for i, key := range []string{"k1", "", "k2"} {
		sqlOn(t, s, "DELETE FROM sqlite_sequence")
		made := storetest.Create(t, s, example.Pet(), pets.IdempotencyKey{Key: key})
		assert.EqualValues(t, 3+i, made.ID, "key %q", key)
	}
}

// TestSchema checks what a migration may forget: a table with AUTOINCREMENT is in Tables, and each statement has an
// index, also with statistics, by which SQLite may prefer the order of identifiers.
func TestSchema(t *testing.T) {
	s := open(t)
	storetest.Fill(t, s, 300)
	sqlOn(t, s, "ANALYZE")
	conn := connect(s)
	defer conn.Close()
	var tables string
	err := conn.QueryRowContext(t.Context(), `SELECT group_concat(name) FROM sqlite_schema
		WHERE sql LIKE '%AUTOINCREMENT%' AND name <> 'goose_db_version'`).Scan(&tables)
	require.NoError(t, err)
	assert.Subset(t, Schema.Tables, strings.Split(tables, ","), "Tables, which a restore looks at")
	args := append([]any{string(example.Pet().Status), 0, 21}, make([]any, 20)...)
	all := regexp.MustCompile(`FROM (keys ORDER BY|\w+ WHERE id > \?)`)
	for _, query := range Schema.Statements() {
		rows, err := conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
		require.NoError(t, err, query)
		for rows.Next() {
			var step string
			require.NoError(t, rows.Scan(new(int), new(int), new(int), &step))
			if !all.MatchString(query) {
				assert.NotRegexp(t, `SCAN|TEMP B-TREE|rowid>`, step, "a plan without an index: %s", query)
			}
		}
	}
}

// TestMove checks that the page which moves a store to PostgreSQL, if it is there, copies each column, and the last identifier.
func TestMove(t *testing.T) {
	page, err := os.ReadFile("../../../deploy/postgres/from-sqlite.md")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	conn := connect(open(t))
	defer conn.Close()
	var columns string // as patterns
	err = conn.QueryRowContext(t.Context(), `SELECT group_concat('INSERT INTO \w+\.' || t.name || ' \([^)]*\b' || c.name || '\b', ';')
		FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT IN ('sqlite_sequence', 'goose_db_version')`).Scan(&columns)
	require.NoError(t, err)
	for column := range strings.SplitSeq(columns+`;setval\(.*\bseq\) FROM sqlite_sequence WHERE name = 'pets'`, ";") {
		assert.Regexp(t, column, string(page))
	}
}
