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

// WithRetries returns an option that repeats a request up to n times after a 408, 429, 500,
// 502, 503 or 504, or without a response. It repeats idempotent methods, and operations that
// take an Idempotency-Key; a request without one gets a random one. Before each repeat it waits
// as long as Retry-After says, at least 0.1 s, plus a random time, so that clients that are
// rejected together spread out. If that would take more than a minute or pass the context's
// deadline, it returns the response. If the context ends meanwhile, the error has the last
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

// retrier is an HTTP client that reads whole responses and repeats requests.
type retrier struct {
	client  HttpRequestDoer
	repeats int
}

// Do implements HttpRequestDoer.
func (t *retrier) Do(r *http.Request) (*http.Response, error) {
	r, repeats := t.prepare(r)
	var last error // why the last attempt failed
	for n := 0; ; n++ {
		response, body, err := t.send(r)
		if err != nil && last != nil && r.Context().Err() != nil {
			return nil, fmt.Errorf("%w; before that: %w", err, last)
		}
		last = err
		if err == nil && slices.Contains([]int{408, 429, 500, 502, 503, 504}, response.StatusCode) {
			last = Check[Pet](nil, response, body)
		}
		if last == nil || n >= repeats || !pause(r.Context(), last, n) {
			return response, err
		}
	}
}

// prepare returns a copy of r, with an Idempotency-Key if it takes one, and how often it may be repeated.
func (t *retrier) prepare(r *http.Request) (*http.Request, int) {
	r = r.Clone(r.Context())
	takesKey := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pets") // createPet
	idempotent := slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.Method)
	if t.repeats <= 0 || !takesKey && !idempotent || r.Body != nil && r.GetBody == nil {
		return r, 0 // the last: its body cannot be sent again
	}
	if takesKey && len(r.Header["Idempotency-Key"]) == 0 {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	return r, t.repeats
}

// pause waits before the repeat after attempt n, which failed. It returns false at once if
// that would take more than a minute or pass the context's deadline.
func pause(ctx context.Context, failure error, n int) bool {
	wait, left := 100*time.Millisecond, time.Minute
	if e, ok := errors.AsType[*ResponseError](failure); ok {
		wait = max(wait, e.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	if wait >= left || ctx.Err() != nil {
		return false
	}
	wait += mathrand.N(min(wait<<min(n+1, 10), left-wait)) // each attempt doubles the range
	select {
	case <-time.After(wait):
	case <-ctx.Done(): // the next attempt returns the context's error
	}
	return true
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
	const maxResponse = 16 << 20 // bytes
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
