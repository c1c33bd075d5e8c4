package client

import (
	"context"
	"net/http"
)

// Strict has every request prefer that nothing of it is ignored (RFC 7240, section
// 4.4): a query parameter or a property that the service does not know is then a 400
// that names it and the nearest known one. It is for tests and for clients that are
// never newer than the service.
//
//	c, err := client.NewClientWithResponses(address, client.WithKey(key), client.Strict())
func Strict() ClientOption {
	return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Prefer", "handling=strict")
		return nil
	})
}
