package edge

import "net/http"

// callers are all who call operations: those with a key, whom the door lets in, and
// those of public operations. Each sort has a room of its own.
type callers struct {
	door    door
	proxies proxies
	keyed   *pool
	public  *pool // nil where every operation needs a key
}

// identify finds who calls the operation, and the room that the call may take. Of a
// public operation that is the network's of the client, and Authorization is not looked
// at. A caller whose key is known is returned whatever the error.
func (c *callers) identify(r *http.Request, op *operation) (Identity, claim, error) {
	if op.Public {
		return Identity{}, claim{pool: c.public, payer: networkOf(c.proxies.remote(r))}, nil
	}
	caller, err := c.door.open(r, op.Operation)
	return caller, claim{pool: c.keyed, payer: caller.ID}, err
}
