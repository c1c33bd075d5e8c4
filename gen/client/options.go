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
	"regexp"
	"slices"
	"sync"
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
// response or if it is a 408, 429, 500 or 503, and the method is idempotent or the
// operation takes an Idempotency-Key, of which a request without one gets a random one.
// It waits as long as Retry-After says, or else 0.1 s, doubled each time, and up to half
// as long again at random. Rather than wait for more than a minute or past the context's
// deadline it returns the response. If the context ends later, the error has the last
// response too. A request that hangs is repeated if the HTTP client has a timeout.
func WithRetries(n int) ClientOption {
	return func(c *Client) error {
		var once sync.Once
		return WithRequestEditorFn(func(context.Context, *http.Request) error {
			once.Do(func() { c.Client = &retrier{c.Client, n} }) // now that all options have been applied
			return nil
		})(c)
	}
}

// keyed matches the requests of the operations that take an Idempotency-Key.
var keyed = regexp.MustCompile("^POST .*/pets$")

type retrier struct {
	client  HttpRequestDoer
	repeats int
}

// Do implements HttpRequestDoer.
func (t *retrier) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	r = r.Clone(ctx)
	takesKey := keyed.MatchString(r.Method + " " + r.URL.Path)
	if takesKey && len(r.Header["Idempotency-Key"]) == 0 {
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
		wait := 100 * time.Millisecond << min(repeat, 10)
		if err == nil && response.Header.Get("Retry-After") != "" {
			wait = retryAfter(response)
		}
		jitter := mathrand.N(wait/2 + 1)
		deadline, ok := ctx.Deadline()
		if wait > time.Minute || ok && wait+jitter > time.Until(deadline) {
			return response, err
		}
		last = err
		if err == nil {
			last = Check[Pet](nil, response, body)
		}
		select {
		case <-time.After(wait + jitter):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; before that: %w", withURL(r, ctx.Err()), last)
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
		return nil, nil, withURL(r, err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		return nil, nil, withURL(r, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, body, nil
}

// withURL returns err with the URL of r, which errors of net/http have.
func withURL(r *http.Request, err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return err
	}
	return &url.Error{Op: r.Method, URL: r.URL.Redacted(), Err: err}
}
