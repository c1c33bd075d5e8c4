package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/petstore/internal/old/edge/limit"
)

// claim is the room that one request has in a pool.
type claim struct {
	pool  *pool
	payer string // the key or network whose share of the pool counts
	rows  int64  // that its call asks for
	bytes int64  // of its response
}

// admit refuses a request for which there is no room now, before its body is read.
func (c *claim) admit(now time.Time) error {
	if wait, ok := c.pool.rates.Allow(c.payer, now); !ok {
		return &problem{
			status:  http.StatusTooManyRequests,
			code:    codeRateLimited,
			message: "too many requests " + c.pool.payers + "; try again later",
			header:  http.Header{"Retry-After": {strconv.Itoa(int((wait + time.Second - 1) / time.Second))}},
		}
	}
	if err := c.pool.calls.CheckRoom(); err != nil {
		return unavailable(err)
	}
	return nil
}

// beginCall waits for the room of a call that asks for so many rows, or that counts
// none: 0. A call for more rows than there may be waits until it is alone. Without an
// error, endCall must follow.
func (c *claim) beginCall(ctx context.Context, rows int64) error {
	if err := c.pool.calls.Begin(ctx); err != nil {
		return unavailable(err)
	}
	rows = max(0, min(rows, c.pool.mostRows))
	if rows == 0 {
		return nil
	}
	if err := c.pool.rows.Begin(ctx, c.payer, rows); err != nil {
		c.pool.calls.End()
		return unavailable(err)
	}
	c.rows = rows
	return nil
}

func (c *claim) endCall() {
	if c.rows > 0 {
		c.pool.rows.End(c.rows)
	}
	c.pool.calls.End()
}

// largeResponse is from where on a response counts against Limits.ResponseBytes.
// Smaller ones are bounded by the number of connections.
const largeResponse = 16 << 10

// takeBytes takes the room of a response, where it is large.
func (c *claim) takeBytes(size int) error {
	n := int64(size)
	if n < largeResponse {
		return nil
	}
	switch err := c.pool.responses.Take(c.payer, n); {
	case errors.Is(err, limit.ErrTooLarge):
		return internal(fmt.Errorf("a response of %d bytes: %w; raise Limits.LargestResponse, or Limits.ResponseBytes where it is set", n, err))
	case err != nil:
		return unavailable(err)
	}
	c.bytes = n
	return nil
}

// giveBytes ends what takeBytes began, once the response is written.
func (c *claim) giveBytes() {
	if c.bytes > 0 {
		c.pool.responses.Give(c.payer, c.bytes)
	}
}

// isCrowded reports whether a request was refused for lack of room: a sign of load,
// not a fault.
func isCrowded(err error) bool {
	return errors.Is(err, limit.ErrFull) || errors.Is(err, limit.ErrSpent)
}
