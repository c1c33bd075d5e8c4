package edge

// callers are all who call operations: those with a key, whom the door lets in, and
// those of public operations. Each sort has a room of its own.
type callers struct {
	door    door
	proxies proxies
	keyed   *pool
	public  *pool // nil where every operation needs a key
}

// identify finds who calls the operation, and whose room that takes. Of a public
// operation it is the network of the client, and Authorization is not looked at.
func (c *callers) identify(x *exchange, op *operation) (err error) {
	r := x.Request()
	if op.Public {
		x.ctx.begin(r.Context(), Identity{}, x.start)
		x.pool, x.payer = c.public, networkOf(c.proxies.remote(r))
		return nil
	}
	caller, err := c.door.open(r, op.Operation)
	x.ctx.begin(r.Context(), caller, x.start)
	x.pool, x.payer = c.keyed, caller.ID
	return err
}
