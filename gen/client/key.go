package client

import (
	"context"
	"errors"
	"net/http"
)

// WithKey returns an option that sends the API key with every request (RFC 6750).
// It fails if the key is empty.
//
//	c, err := client.NewClientWithResponses("http://127.0.0.1:8080/v1", client.WithKey(os.Getenv("KEY")))
func WithKey(key string) ClientOption {
	return func(c *Client) error {
		if key == "" {
			return errors.New("the API key is empty; create one with: petstore keys create NAME")
		}
		return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		})(c)
	}
}
