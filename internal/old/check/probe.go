package check

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// probe sends the requests of one check and keeps what rules share.
type probe struct {
	Config
	ctx     context.Context
	client  *http.Client
	watched []*rule
	mark    string // the beginning of the names of the animals it adds
	refused string // the categoryId of animals that must not be added

	mu       sync.Mutex // of the fields below
	sent     int
	next     time.Time      // when the next request may go
	made     map[int64]bool // the animals it has added
	firstOwn int64          // the first of them
	refusals int            // how many requests were to add nothing
	page     *page          // see sample
}

func newProbe(ctx context.Context, cfg Config, transport http.RoundTripper) *probe {
	var run [4]byte
	_, _ = rand.Read(run[:]) // never fails (crypto/rand)
	category, _ := rand.Int(rand.Reader, big.NewInt(1<<52))
	return &probe{
		Config: cfg,
		ctx:    ctx,
		client: &http.Client{
			Transport: transport,
			// A redirect is a response like any other, and the key stays here.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		mark:    "petstore check " + hex.EncodeToString(run[:]),
		refused: strconv.FormatInt(1<<52+category.Int64(), 10),
		made:    map[int64]bool{},
	}
}

// A request that gets 429 or 503 with Retry-After is sent again, up to maxTries
// times in all, after at most maxRetryIn.
const (
	maxTries   = 3
	maxRetryIn = 10 * time.Second
)

// send sends a request and shows the response to the rules that judge every
// response.
func (p *probe) send(r request) *response {
	resp := p.exchange(r)
	for range maxTries - 1 {
		wait, err := strconv.Atoi(resp.header.Get("Retry-After"))
		if resp.status != http.StatusTooManyRequests && resp.status != http.StatusServiceUnavailable || err != nil {
			break
		}
		p.sleep(min(time.Duration(max(wait, 0))*time.Second, maxRetryIn))
		resp = p.exchange(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(resp)
	for _, rule := range p.watched {
		if rule.every != nil && resp.err == nil {
			rule.watch(resp)
		}
	}
	return resp
}

// remember notes an animal that was added.
func (p *probe) remember(resp *response) {
	if resp.request.method != http.MethodPost || resp.status/100 != 2 {
		return
	}
	pet, err := resp.pet()
	if err != nil {
		return
	}
	if len(p.made) == 0 {
		p.firstOwn = pet.id
	}
	p.made[pet.id] = true
}

// exchange sends a request once.
func (p *probe) exchange(r request) *response {
	resp := &response{request: r}
	if resp.err = p.ctx.Err(); resp.err != nil {
		return resp
	}
	p.sleep(p.turn())
	ctx, cancel := context.WithTimeout(p.ctx, p.Timeout)
	defer cancel()
	asked, err := r.http(ctx, p.Base.String(), p.Key)
	if err != nil {
		resp.err = err
		return resp
	}
	got, err := p.client.Do(asked)
	if err != nil {
		resp.err = p.explain(err)
		return resp
	}
	defer got.Body.Close()
	resp.status, resp.header = got.StatusCode, got.Header
	resp.body, err = io.ReadAll(io.LimitReader(got.Body, maxResponse+1))
	switch {
	case err != nil:
		resp.err = p.explain(err)
	case len(resp.body) > maxResponse:
		resp.err = fmt.Errorf("a response of more than %d bytes", maxResponse)
	}
	return resp
}

// turn returns how long the next request must wait to keep the rate.
func (p *probe) turn() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	if p.Rate == 0 {
		return 0
	}
	now := time.Now()
	wait := max(p.next.Sub(now), 0)
	p.next = now.Add(wait + time.Second/time.Duration(p.Rate))
	return wait
}

func (p *probe) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ctx.Done():
	case <-t.C:
	}
}

// redact takes the key out of a text that the server may have chosen.
func (p *probe) redact(text string) string {
	for _, secret := range []string{p.Key, url.QueryEscape(p.Key)} {
		text = strings.ReplaceAll(text, secret, keyVariable)
	}
	return text
}

// maxShown is how many characters of a response are shown.
const maxShown = 200

// show makes a text fit for a terminal: one line, without control characters,
// without the key, not too long.
func (p *probe) show(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range p.redact(text) {
		if n++; n > maxShown {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// firstContact finds out whether there is anything to judge. It asks without the
// key first: a server that redirects it, or does not keep the contract at all,
// never sees the key.
func (p *probe) firstContact() error {
	anonymous := p.send(get("/pets?limit=1").anonymous())
	if err := p.noContact(anonymous); err != nil {
		return err
	}
	known := p.send(get("/pets?limit=1"))
	switch err := p.noContact(known); {
	case err != nil:
		return err
	case known.status == http.StatusUnauthorized, known.status == http.StatusForbidden:
		return fmt.Errorf("%s refuses the key in PETSTORE_KEY: it responds with %s", p.Base, p.show(known.text()))
	case known.status == http.StatusNotFound && !strings.HasSuffix(p.Base.Path, "/v1"):
		return fmt.Errorf("there is nothing at %s/pets; a base address ends in /v1: try %s/v1", p.Base, p.Base)
	case known.status == http.StatusNotFound:
		return fmt.Errorf("there is nothing at %s/pets: it responds with %s", p.Base, p.show(known.text()))
	}
	return nil
}

// noContact returns an error where the response is none of the contract's.
func (p *probe) noContact(resp *response) error {
	switch {
	case p.ctx.Err() != nil:
		return errors.New("ended before anything was checked")
	case resp.err != nil:
		return fmt.Errorf("cannot reach %s: %w", p.Base, resp.err)
	case resp.status/100 == 3:
		return fmt.Errorf("%s leads to %s: it responds with %d; give the address it leads to", p.Base, p.show(resp.header.Get("Location")), resp.status)
	case resp.status == http.StatusBadRequest && strings.Contains(string(resp.body), "HTTPS"):
		return fmt.Errorf("%s speaks TLS: give an address that begins with https://", p.Base)
	case resp.status >= 500:
		return fmt.Errorf("nothing to judge at %s: it responds with %s", p.Base, p.show(resp.text()))
	}
	return nil
}
