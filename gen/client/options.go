package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// WithKey returns an option that sends the API key, which must not be empty (RFC 6750).
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

// WithRetries returns an option that repeats a request up to n times if there is no
// response or if it is a 408, 429, 500 or 503. It repeats requests with an idempotent
// method (RFC 9110, section 9.2.2) or an Idempotency-Key, and gives a POST without
// such a key a random one. It waits as long as Retry-After says, or else 0.1 s,
// doubled each time, and up to half as long again at random. Rather than wait for
// more than a minute it returns the response. WithHTTPClient must come before it.
func WithRetries(n int) ClientOption {
	return func(c *Client) error {
		if c.Client == nil {
			c.Client = http.DefaultClient
		}
		c.Client = &retrier{c.Client, n}
		return nil
	}
}

type retrier struct {
	client  HttpRequestDoer
	repeats int
}

// Do implements HttpRequestDoer.
func (t *retrier) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(ctx)
	if r.Method == http.MethodPost && len(r.Header["Idempotency-Key"]) == 0 {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	safe := slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.Method) || len(r.Header["Idempotency-Key"]) > 0
	safe = safe && (r.Body == nil || r.GetBody != nil) // the body can be sent again
	for repeat := 0; ; repeat++ {
		response, err := t.send(r)
		if repeat >= t.repeats || !safe || ctx.Err() != nil || err == nil && !slices.Contains([]int{408, 429, 500, 503}, response.StatusCode) {
			return response, err
		}
		wait := 100 * time.Millisecond << min(repeat, 10)
		if err == nil && response.Header.Get("Retry-After") != "" {
			wait = retryAfter(response)
		}
		if wait > time.Minute {
			return response, err
		}
		select {
		case <-time.After(wait + mathrand.N(wait/2+1)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// send sends r and reads the whole response, because it may be lost halfway.
func (t *retrier) send(r *http.Request) (response *http.Response, err error) {
	attempt := r.Clone(r.Context()) // the transport may still read the body of the last one
	if r.GetBody != nil {
		if attempt.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	if response, err = t.client.Do(attempt); err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return response, nil
}
