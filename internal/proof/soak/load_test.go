//go:build postgres && torture

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// counts is how many requests of each kind were sent, and how many failed: no
// response, or a 5xx.
type counts struct {
	creates, reads, slow, failed atomic.Int64
}

// client is one of the load. It asks one server and turns to the next where that
// fails.
type client struct {
	d    *deployment
	name string
	at   int
	http *http.Client
}

// startLoad starts the clients and returns a function that ends them.
func (d *deployment) startLoad(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	start := func(kind string, n int, work func(*client, context.Context, int)) {
		for i := range n {
			c := &client{d: d, name: kind + strconv.Itoa(i), at: i, http: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}}
			running.Go(func() {
				defer c.http.CloseIdleConnections()
				for i := 0; ctx.Err() == nil; i++ {
					work(c, ctx, i)
					// A client that thinks: an hour must fit the disk and the ledger.
					time.Sleep(rand.N(20 * time.Millisecond))
				}
			})
		}
	}
	start("keyed-", 4, (*client).createOnce)
	start("bare-", 2, (*client).create)
	start("get-", 2, (*client).get)
	start("list-", 1, (*client).list)
	start("slow-", 2, (*client).readSlowly)
	return func() {
		cancel()
		running.Wait()
	}
}

// send sends one request. It returns status 0 where no whole response came.
func (c *client) send(ctx context.Context, method, path, body, idempotencyKey string) (status int, response []byte) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.d.servers[c.at%len(c.d.servers)].address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+fixedKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", idempotencyKey)
	}
	resp, err := c.http.Do(r)
	if err == nil {
		defer resp.Body.Close()
		response, err = io.ReadAll(resp.Body)
	}
	if err != nil || resp.StatusCode >= 500 {
		c.at++
		if ctx.Err() == nil {
			c.d.counts.failed.Add(1)
			time.Sleep(20 * time.Millisecond) // as Retry-After asks, but sooner: more happens in a run
		}
	}
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, response
}

type animal struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// createOnce creates an animal with an idempotency key, and sends the request
// again until it is acknowledged.
func (c *client) createOnce(ctx context.Context, i int) {
	name := fmt.Sprintf("%s-%d", c.name, i)
	body := fmt.Sprintf(`{"name":%q,"categoryId":1}`, name)
	for ctx.Err() == nil {
		c.d.counts.creates.Add(1)
		status, response := c.send(ctx, http.MethodPost, "/v1/pets", body, name)
		if status == http.StatusCreated {
			c.enter(name, response)
			if rand.IntN(20) > 0 { // and now and then once more
				return
			}
			continue
		}
		if status != 0 && status < 500 {
			c.d.ledger.fault("creating %s: got %d %s", name, status, response)
			return
		}
	}
}

// create creates an animal without a key: a failure may or may not have stored
// it, so only the acknowledged ones count.
func (c *client) create(ctx context.Context, i int) {
	name := fmt.Sprintf("%s-%d", c.name, i)
	c.d.counts.creates.Add(1)
	status, response := c.send(ctx, http.MethodPost, "/v1/pets", fmt.Sprintf(`{"name":%q,"categoryId":2,"status":"sold"}`, name), "")
	if status == http.StatusCreated {
		c.enter(name, response)
	}
}

func (c *client) enter(name string, response []byte) {
	var a animal
	if err := json.Unmarshal(response, &a); err != nil || a.Name != name {
		c.d.ledger.fault("creating %s: got %s", name, response)
		return
	}
	c.d.ledger.acknowledge(name, a.ID)
}

// get reads an acknowledged animal back.
func (c *client) get(ctx context.Context, _ int) {
	name, id, ok := c.d.ledger.pick(rand.IntN)
	if !ok {
		time.Sleep(time.Millisecond)
		return
	}
	c.d.counts.reads.Add(1)
	status, response := c.send(ctx, http.MethodGet, fmt.Sprintf("/v1/pets/%d", id), "", "")
	var a animal
	if status != 0 && status < 500 && (status != http.StatusOK || json.Unmarshal(response, &a) != nil || a.Name != name) {
		c.d.ledger.fault("animal %d: got %d %s, want %s", id, status, response, name)
	}
}

// list reads a page from anywhere.
func (c *client) list(ctx context.Context, _ int) {
	_, after, _ := c.d.ledger.pick(rand.IntN)
	c.d.counts.reads.Add(1)
	status, response := c.send(ctx, http.MethodGet, fmt.Sprintf("/v1/pets?limit=100&after=%d", after), "", "")
	var page []animal
	if status == http.StatusOK && json.Unmarshal(response, &page) != nil || status >= 400 && status < 500 {
		c.d.ledger.fault("a page after %d: got %d %.200s", after, status, response)
	}
	for _, a := range page {
		if a.ID <= after {
			c.d.ledger.fault("a page: got animal %d after %d, want ascending identifiers", a.ID, after)
		}
		after = a.ID
	}
}

// readSlowly reads a large page a few bytes at a time, and hangs up half-way.
func (c *client) readSlowly(ctx context.Context, _ int) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.d.servers[c.at%len(c.d.servers)].address+"/v1/pets?limit=100", nil)
	if err != nil {
		panic(err)
	}
	c.at++
	r.Header.Set("Authorization", "Bearer "+fixedKey)
	c.d.counts.slow.Add(1)
	resp, err := c.http.Do(r)
	if err != nil {
		<-ctx.Done()
		return
	}
	defer resp.Body.Close()
	for buf := make([]byte, 64); ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if _, err := resp.Body.Read(buf); err != nil {
			return
		}
	}
}

// walk follows the pages of a server to their end.
func walk(s *server) (map[int64]string, error) {
	c := http.Client{Timeout: time.Minute}
	defer c.CloseIdleConnections()
	all := map[int64]string{}
	for after := int64(0); ; {
		r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s/v1/pets?limit=100&after=%d", s.address, after), nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+fixedKey)
		resp, err := c.Do(r)
		if err != nil {
			return nil, err
		}
		var page []animal
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("a page after %d: %d %w", after, resp.StatusCode, err)
		}
		for _, a := range page {
			all[a.ID], after = a.Name, a.ID
		}
		if resp.Header.Get("Link") == "" {
			return all, nil
		}
	}
}
