package primary

import (
	"encoding/binary"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// visibleResults are results of a statement with the column xmin at the end, which
// Query hides. It notes a row that the primary may not show yet. A standby shows a
// commit as soon as it has replayed it. The primary shows it only once the wait for a
// standby is over.
type visibleResults struct {
	pgx.BatchResults
	oldest uint32 // the oldest transaction that had not ended on the primary
	newer  bool   // whether a row is of that transaction or of a later one, until Query: it may be
}

// Query implements pgx.BatchResults.
func (v *visibleResults) Query() (pgx.Rows, error) {
	rows, err := v.BatchResults.Query()
	v.newer = false
	return visibleRows{rows, v}, err
}

type visibleRows struct {
	pgx.Rows
	results *visibleResults
}

func (r visibleRows) Next() bool {
	if !r.Rows.Next() {
		return false
	}
	last := len(r.Rows.RawValues()) - 1
	xmin, ok := transaction(r.Rows.FieldDescriptions()[last].Format, r.Rows.RawValues()[last])
	if !ok || mayBeNewer(xmin, r.results.oldest) {
		r.results.newer = true
	}
	return true
}

// mayBeNewer compares modulo 2^32. Half of the numbers count as later. So no
// later row is missed, and a row that is older by that half is read from the primary.
// The lowest three numbers belong to no transaction.
func mayBeNewer(xmin, oldest uint32) bool { return xmin > 2 && int32(xmin-oldest) >= 0 }

func (r visibleRows) Scan(destinations ...any) error {
	return r.Rows.Scan(append(destinations, nil)...)
}

func (r visibleRows) RawValues() [][]byte { return allButLast(r.Rows.RawValues()) }

func (r visibleRows) FieldDescriptions() []pgconn.FieldDescription {
	return allButLast(r.Rows.FieldDescriptions())
}

func allButLast[T any](s []T) []T { return s[:max(0, len(s)-1)] }

// transaction decodes an xid.
func transaction(format int16, value []byte) (xid uint32, ok bool) {
	if format == pgx.BinaryFormatCode && len(value) == 4 {
		return binary.BigEndian.Uint32(value), true
	}
	n, err := strconv.ParseUint(string(value), 10, 32)
	return uint32(n), err == nil
}
