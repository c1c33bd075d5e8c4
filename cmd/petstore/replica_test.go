//go:build postgres

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store"
)

// testKey opens every replica.
const testKey = "a-key-for-every-replica"

// replica is `petstore serve` in this process, on a port of its own.
type replica struct {
	url    string // without the version segment
	cancel context.CancelFunc
	exit   chan int
	once   sync.Once
}

// startReplica starts a replica on a store and waits until it serves.
func startReplica(t *testing.T, store string, args ...string) *replica {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	logReader, logWriter := io.Pipe()
	env := map[string]string{"PETSTORE_API_KEYS": testKey, "PETSTORE_STORE": store, "PETSTORE_ADDR": "127.0.0.1:0", "PETSTORE_DRAIN": "0s"}
	r := &replica{cancel: cancel, exit: make(chan int, 1)}
	go func() {
		status := run(ctx, environment{
			args:   append([]string{"serve"}, args...),
			getenv: func(name string) string { return env[name] },
			stdin:  strings.NewReader(""), stdout: io.Discard, stderr: logWriter,
		})
		logWriter.Close()
		r.exit <- status
	}()
	serving := make(chan string, 1)
	said := make(chan string, 1)
	go func() {
		defer close(serving)
		var lines strings.Builder
		for log := bufio.NewScanner(logReader); log.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(log.Bytes(), &line) == nil && line.Msg == "serving" {
				serving <- line.Address
				break
			}
			lines.WriteString(log.Text() + "\n")
		}
		said <- lines.String()
		_, _ = io.Copy(io.Discard, logReader)
	}()
	address, ok := <-serving
	if !ok {
		cancel()
		t.Fatalf("petstore serve ended: %s", <-said)
	}
	r.url = strings.TrimSuffix(address, "/v1")
	t.Cleanup(func() { r.stop(t) })
	return r
}

// stop ends the replica as SIGTERM does.
func (r *replica) stop(t *testing.T) {
	r.once.Do(func() {
		r.cancel()
		select {
		case status := <-r.exit:
			if status != 0 {
				t.Errorf("petstore serve ended with status %d, want 0", status)
			}
		case <-time.After(time.Minute):
			t.Error("petstore serve has not ended within a minute")
		}
	})
}

// status returns the status of a probe.
func (r *replica) status(t *testing.T, path string) int {
	t.Helper()
	resp, err := probes.Get(r.url + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

var probes = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// response is a response of the service.
type response struct {
	status int
	header http.Header
	body   []byte
}

// ask sends one request with the test key.
func ask(ctx context.Context, c *http.Client, method, url, body string, header map[string]string) (response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	r.Header.Set("Authorization", "Bearer "+testKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range maps.All(header) {
		r.Header.Set(name, value)
	}
	resp, err := c.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, b}, err
}

func openStore(t *testing.T, address string) pets.Store {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatalf("opening %s: got error %v, want a store", address, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newStoredKey(t *testing.T, s pets.KeyStore) (pets.Key, string) {
	t.Helper()
	k, token, err := pets.NewKey("test", time.Now(), 0)
	if err == nil {
		err = s.CreateKey(t.Context(), k)
	}
	if err != nil {
		t.Fatalf("storing a key: got error %v", err)
	}
	return k, token
}
