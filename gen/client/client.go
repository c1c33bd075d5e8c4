// Package client is a client of the pet store. All, CreatePet and GetPet call the service through
// what NewClientWithResponses returns; WithKey and WithRetries are options of it. Most of the rest is
// generated from the document of the service.
package client

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config ../config.yaml -package client -generate types,client -o openapi.gen.go ../../openapi.yaml
//go:generate sh -c "go run github.com/mikefarah/yq/v4@v4.54.3 --from-file codes.yq ../../openapi.yaml >codes.gen.go && gofmt -w codes.gen.go"

import (
	"bytes"
	"cmp"
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

// WithKey returns an option that sends the API key (RFC 6750). So that the key goes nowhere
// else, such as from https to http, redirects are not followed, unless the HTTP client has a
// CheckRedirect of its own. One that is no *http.Client must not follow redirects itself.
func WithKey(key string) ClientOption {
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		err := errors.New("the API key is empty or contains white space; create one with: petstore keys create NAME")
		return func(*Client) error { return err }
	}
	return option(func(t *retrier) { t.key = key })
}

// WithRetries returns an option that repeats a request up to n times after a 408, 429, 500,
// 502, 503 or 504, or without a response. It repeats idempotent methods, and operations that
// take an Idempotency-Key; a request without one gets a random one, which an error names. Before
// each repeat it waits as long as Retry-After says, at least 0.1 s, plus a random time, so that
// clients that are rejected together spread out. If that would take more than a minute or pass
// the context's deadline, it returns the *ResponseError. If the context ends meanwhile, the error
// has the last response too. A request that hangs is repeated if the HTTP client has a timeout.
func WithRetries(n int) ClientOption {
	return option(func(t *retrier) { t.repeats = n })
}

// option returns an option that wraps the HTTP client of a Client in a retrier and changes it: at
// once, for copies of the Client, and before its first request, in case WithHTTPClient came later.
func option(change func(*retrier)) ClientOption {
	return func(c *Client) error {
		change(wrap(c))
		var once sync.Once
		return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			once.Do(func() { change(wrap(c)) })
			r.Header.Set("User-Agent", "petstore-client/"+version)
			return nil
		})(c)
	}
}

// wrap wraps the HTTP client of c in a retrier, unless it is one.
func wrap(c *Client) *retrier {
	if t, ok := c.Client.(*retrier); ok {
		return t
	}
	t := &retrier{client: cmp.Or[HttpRequestDoer](c.Client, http.DefaultClient)}
	if h, ok := t.client.(*http.Client); ok && h.CheckRedirect == nil {
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
	key     string // none if empty
	repeats int
}

// Do implements HttpRequestDoer. A response of 400 or more is a *ResponseError, because the
// generated code returns nothing but an error of encoding/json for some responses of proxies.
func (t *retrier) Do(r *http.Request) (*http.Response, error) {
	sent, repeats := t.prepare(r)
	var last error // why the last attempt failed
	for n := 0; ; n++ {
		response, err := t.send(sent)
		if err != nil && last != nil && r.Context().Err() != nil {
			err = fmt.Errorf("%w; before that: %w", err, last)
		}
		if err == nil || n >= repeats || !pause(r.Context(), err, n) {
			if key := sent.Header.Get("Idempotency-Key"); err != nil && key != r.Header.Get("Idempotency-Key") {
				err = fmt.Errorf("%w (Idempotency-Key: %s)", err, key)
			}
			return response, err
		}
		last = err
	}
}

// prepare returns a copy of r with the headers that it lacks, and how often it may be repeated.
func (t *retrier) prepare(r *http.Request) (*http.Request, int) {
	r = r.Clone(r.Context())
	if t.key != "" && len(r.Header["Authorization"]) == 0 {
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	takesKey := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pets") // createPet
	idempotent := slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.Method)
	if t.repeats <= 0 || !takesKey && !idempotent || r.Body != nil && r.GetBody == nil || r.URL.Host == "" {
		return r, 0 // the last two: its body cannot be sent again, or no server is named
	}
	if takesKey && len(r.Header["Idempotency-Key"]) == 0 {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	return r, t.repeats
}

// pause waits before the repeat after attempt n, which failed. It returns false at once if
// that would be useless, take more than a minute or pass the context's deadline.
func pause(ctx context.Context, failure error, n int) bool {
	wait, left := 100*time.Millisecond, time.Minute
	if e, ok := errors.AsType[*ResponseError](failure); ok {
		if !slices.Contains([]int{408, 429, 500, 502, 503, 504}, e.Status) {
			return false
		}
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
	const maxResponse = 16 << 20 // bytes
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if len(body) > maxResponse {
		err = fmt.Errorf("the response is larger than %d MiB", maxResponse>>20)
	}
	if err != nil {
		return nil, &url.Error{Op: r.Method, URL: r.URL.Redacted(), Err: err}
	}
	if response.StatusCode >= 400 {
		return nil, Check[Pet](nil, response, body)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
