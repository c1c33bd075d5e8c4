package client

import (
	"context"
	"errors"
	"net/http"
)

// WithKey has every request carry the API key (RFC 6750):
//
//	c, err := client.NewClientWithResponses("http://127.0.0.1:8080/v1", client.WithKey(os.Getenv("KEY")))
//
// An empty key is an error. net/http drops the key when it is redirected to
// another host.
func WithKey(key string) ClientOption {
	return func(c *Client) error {
		if key == "" {
			return errors.New("the API key is empty; make one with: petstore keys create NAME")
		}
		return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		})(c)
	}
}
