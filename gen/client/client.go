package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// WithKey returns an option that sends the API key, which must not be empty (RFC 6750).
// So that the key goes nowhere else, such as from https to http, redirects are not
// followed, unless the HTTP client has a CheckRedirect of its own.
func WithKey(key string) ClientOption {
	return func(c *Client) error {
		if key == "" {
			return errors.New("the API key is empty; create one with: petstore keys create NAME")
		}
		var once sync.Once
		return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			once.Do(func() { wrap(c) }) // now that all options have been applied
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		})(c)
	}
}

// WithRetries returns an option that repeats a request up to n times after a 408, 429, 500
// or 503, or without a response. The method must be idempotent, or the operation must take
// an Idempotency-Key; a request without one gets a random one. Before each repeat it waits as
// long as Retry-After says, at least 0.1 s, and then for a random time, so that clients that
// are refused together spread out. It returns the response if that would take more than a
// minute or pass the context's deadline. If the context ends meanwhile, the error has the last
// response too. A request that hangs is repeated if the HTTP client has a timeout.
func WithRetries(n int) ClientOption {
	return func(c *Client) error {
		var once sync.Once
		return WithRequestEditorFn(func(context.Context, *http.Request) error {
			once.Do(func() { wrap(c).repeats = n })
			return nil
		})(c)
	}
}

// wrap wraps the HTTP client of c in a retrier, unless it is one.
func wrap(c *Client) *retrier {
	if t, ok := c.Client.(*retrier); ok {
		return t
	}
	t := &retrier{client: c.Client}
	if h, ok := c.Client.(*http.Client); ok && h.CheckRedirect == nil {
		careful := *h
		careful.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		t.client = &careful
	}
	c.Client = t
	return t
}

const maxResponse = 16 << 20 // bytes

// retrier is an HTTP client that reads whole responses and repeats requests.
type retrier struct {
	client  HttpRequestDoer
	repeats int
}

// Do implements HttpRequestDoer.
func (t *retrier) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(ctx)
	takesKey := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pets") // as createPet
	if takesKey && t.repeats > 0 && len(r.Header["Idempotency-Key"]) == 0 {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	safe := takesKey || slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.Method)
	safe = safe && (r.Body == nil || r.GetBody != nil) // the body can be sent again
	var last error
	for repeat := 0; ; repeat++ {
		response, body, err := t.send(r)
		if err != nil && ctx.Err() != nil && last != nil {
			return nil, fmt.Errorf("%w; before that: %w", err, last)
		}
		failed := err != nil || slices.Contains([]int{408, 429, 500, 503}, response.StatusCode)
		if !failed || !safe || repeat >= t.repeats || ctx.Err() != nil {
			return response, err
		}
		wait, left := 100*time.Millisecond, time.Minute
		last = err
		if err == nil {
			last = Check[Pet](nil, response, body)
			wait = max(wait, retryAfter(response))
		}
		if deadline, ok := ctx.Deadline(); ok {
			left = min(left, time.Until(deadline))
		}
		if wait >= left {
			return response, err
		}
		wait += mathrand.N(min(wait<<min(repeat+1, 10), left-wait))
		select {
		case <-time.After(wait):
		case <-ctx.Done(): // send returns its error
		}
	}
}

// send sends r and reads the whole response, because it may be lost halfway.
func (t *retrier) send(r *http.Request) (response *http.Response, body []byte, err error) {
	attempt := r.Clone(r.Context()) // the transport may still read the body of the last one
	if r.GetBody != nil {
		if attempt.Body, err = r.GetBody(); err != nil {
			return nil, nil, err
		}
	}
	if response, err = t.client.Do(attempt); err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if len(body) > maxResponse {
		err = fmt.Errorf("the response is larger than %d MiB", maxResponse>>20)
	}
	if err != nil {
		return nil, nil, &url.Error{Op: r.Method, URL: r.URL.Redacted(), Err: err}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, body, nil
}
