package edge

import (
	"runtime/debug"

	"example.com/petstore/internal/old/edge/limit"
)

// pool is the room that one sort of callers has: those with a key, or all others.
// Within it each payer, a key or an address, has a share.
type pool struct {
	payers    string // in a sentence
	rates     *limit.Rates
	calls     *limit.Calls
	rows      *limit.Rows
	mostRows  int64
	responses *limit.Budget
}

const (
	callsByDefault    = 256
	queuedForEachCall = 2 // calls that may wait, for each that may be under way
	responseBytes     = 64 << 20

	// publicShare is the part of all room that public operations have, where there are
	// any: a quarter. Callers with a key have the rest.
	publicShare = 4
)

// newPools returns the room of callers with a key, and that of the others, which is
// nil where every operation needs a key.
func newPools(l Limits, anyPublic bool) (keyed, public *pool) {
	if l.Calls == 0 {
		l.Calls = callsByDefault
	}
	if l.ResponseBytes == 0 {
		l.ResponseBytes = max(4*l.LargestResponse, min(responseBytes, debug.SetMemoryLimit(-1)/4))
	}
	if !anyPublic {
		return newPool(l, "with this API key"), nil
	}
	part := l
	part.Calls = max(1, l.Calls/publicShare)
	part.ResponseBytes = max(4*l.LargestResponse, l.ResponseBytes/publicShare)
	l.Calls = max(1, l.Calls-part.Calls)
	l.ResponseBytes = max(4*l.LargestResponse, l.ResponseBytes-l.ResponseBytes/publicShare)
	if l.Rows > 0 {
		part.Rows = max(1, l.Rows/publicShare)
		l.Rows = max(1, l.Rows-part.Rows)
	}
	return newPool(l, "with this API key"), newPool(part, "from this address")
}

func newPool(l Limits, payers string) *pool {
	p := &pool{
		payers: payers, mostRows: l.Rows,
		calls: limit.NewCalls(l.Calls, queuedForEachCall*l.Calls), responses: limit.NewBudget(l.ResponseBytes),
	}
	if l.Rows > 0 {
		p.rows = limit.NewRows(l.Rows)
	}
	if l.Rate > 0 {
		p.rates = limit.NewRates(l.Rate)
	}
	return p
}
