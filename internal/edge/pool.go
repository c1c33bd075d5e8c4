package edge

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"example.com/petstore/internal/edge/limit"
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

// admit refuses a request for which there is no room now, before its body is read.
func (p *pool) admit(payer string, now time.Time) error {
	if wait, ok := p.rates.Allow(payer, now); !ok {
		return &problem{
			status:  http.StatusTooManyRequests,
			code:    codeRateLimited,
			message: "too many requests " + p.payers + "; try again later",
			header:  http.Header{"Retry-After": {strconv.Itoa(int((wait + time.Second - 1) / time.Second))}},
		}
	}
	if err := p.calls.CheckRoom(); err != nil {
		return unavailable(err)
	}
	return nil
}

// enter waits for the room of a call that asks for so many rows; 0 where they are not
// counted. Without an error, leave must follow.
func (p *pool) enter(ctx context.Context, payer string, rows int64) error {
	if err := p.calls.Begin(ctx); err != nil {
		return unavailable(err)
	}
	if rows == 0 {
		return nil
	}
	if err := p.rows.Begin(ctx, payer, rows); err != nil {
		p.calls.End()
		return unavailable(err)
	}
	return nil
}

func (p *pool) leave(rows int64) {
	if rows > 0 {
		p.rows.End(rows)
	}
	p.calls.End()
}

// rowsOf returns how many rows count of a call that asks for n: a call for more than
// there may be waits until it is alone.
func (p *pool) rowsOf(n int64) int64 { return max(0, min(n, p.mostRows)) }

// isCrowded reports whether a request was refused for lack of room: a sign of load,
// not a fault.
func isCrowded(err error) bool {
	return errors.Is(err, limit.ErrFull) || errors.Is(err, limit.ErrSpent)
}
