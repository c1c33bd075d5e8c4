//go:build attack

// Package attack measures the program's memory under attacks that are cheap for
// the attacker. `make attack` runs it.
package attack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/proof/program"
)

// podMemory is the memory limit in deploy/kubernetes.
const podMemory = 256 << 20

// patience is how long a client with a key may wait for a response.
const patience = 5 * time.Second

// attackTime is how long an attack lasts.
const attackTime = 8 * time.Second

func TestAttack(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "192MiB") // three quarters of podMemory, as serve sets it there
	for _, a := range []struct {
		name        string
		tls         bool
		connections int
		prepare     func(t *testing.T, url string)
		attack      func(conn net.Conn)
	}{
		{name: "unfinished headers", tls: true, connections: 4000, attack: unfinishedHeader},
		{name: "slow bodies of one key", connections: 4000, attack: slowBody},
		{name: "nested bodies", tls: true, connections: 1000, attack: nestedBody},
		{name: "slow readers of pages of 20", connections: 1000, prepare: largePets, attack: slowReader("")},
		{name: "slow readers of one pet", connections: 1000, prepare: largePets, attack: slowReader("/1")},
		{name: "slow readers of pages of 100", connections: 1000, prepare: largePets, attack: slowReader("?limit=100")},
	} {
		t.Run(a.name, func(t *testing.T) {
			scheme, args := "http", []string(nil)
			if a.tls {
				scheme, args = "https", certificate(t)
			}
			pid, addr := serve(t, args...)
			url := scheme + "://" + addr + "/v1/pets"
			newClient(url, false).list(t) // waits for the start
			if a.prepare != nil {
				a.prepare(t, url)
			}
			before := peak(t, pid)
			url += "?after=100" // without the large pets
			kept, fresh := newClient(url, true), newClient(url, false)
			kept.list(t) // before the attack
			stop := swarm(addr, a.tls, a.connections, a.attack)
			var both sync.WaitGroup
			for _, c := range []*client{kept, fresh} {
				both.Go(func() {
					for end := time.Now().Add(attackTime); time.Now().Before(end); {
						c.list(t)
					}
				})
			}
			both.Wait()
			stop()
			after := peak(t, pid)
			t.Logf("peak of memory: %d MiB before, %d MiB under attack; slowest response: %v on a kept connection, %v on a new one",
				before>>20, after>>20, kept.slowest.Round(time.Millisecond), fresh.slowest.Round(time.Millisecond))
			if after > podMemory {
				t.Errorf("peak of memory: got %d MiB, want at most %d", after>>20, podMemory>>20)
			}
			if kept.slowest > patience {
				t.Errorf("a client with a key: got a response after %v, want it within %v", kept.slowest, patience)
			}
		})
	}
}

// serve starts the program that make attack builds.
func serve(t *testing.T, args ...string) (pid int, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	cmd := exec.Command("../../../.bin/petstore", append([]string{"serve", "--store", "memory:", "--addr", addr}, args...)...)
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+program.Key)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid, addr
}

// peak returns the peak memory use of a process.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		t.Fatalf("VmHWM in /proc: %v", err)
	}
	return kib << 10
}

// swarm attacks over n connections until stop is called.
func swarm(addr string, secure bool, n int, attack func(net.Conn)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err != nil {
				return // the server accepts no more
			}
			defer conn.Close()
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			if secure {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			attack(conn)
			<-ctx.Done()
		})
	}
	return func() { cancel(); all.Wait() }
}

// client is a client with a key that repeats requests until they succeed.
type client struct {
	http.Client
	url     string
	slowest time.Duration
}

func newClient(url string, keepAlive bool) *client {
	return &client{url: url, Client: http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: !keepAlive,
	}}}
}

func (c *client) list(t *testing.T) {
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) { // between tries
		r, err := http.NewRequest(http.MethodGet, c.url, nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+program.Key)
		status := 0
		if resp, err := c.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			status = resp.StatusCode
		}
		c.slowest = max(c.slowest, time.Since(begin))
		if status == http.StatusOK || c.slowest > 4*patience {
			return
		}
	}
}

// unfinishedHeader sends 33 KB of a header that does not end.
func unfinishedHeader(conn net.Conn) {
	_, _ = io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 33_000))
	_, _ = io.Copy(io.Discard, conn)
}

// slowBody sends most of the largest body.
func slowBody(conn net.Conn) {
	_, _ = fmt.Fprintf(conn, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n{\"name\":\"%s", program.Key, strings.Repeat("x", 60_000))
	_, _ = io.Copy(io.Discard, conn)
}

// largePets adds pets with the longest names.
func largePets(t *testing.T, url string) {
	t.Helper()
	for range 100 {
		body := fmt.Sprintf(`{"name":%q,"categoryId":1}`, strings.Repeat("<", 65_000)) // six bytes each in JSON
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+program.Key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatalf("adding a pet: got %v (%v), want 201", resp, err)
		}
		_ = resp.Body.Close()
	}
}

// nestedBody sends bodies of 9,000 levels.
func nestedBody(conn net.Conn) {
	body := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for {
		if _, err := fmt.Fprintf(conn, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", program.Key, len(body), body); err != nil {
			return
		}
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			return
		}
	}
}

// slowReader asks for many pages and reads little of them.
func slowReader(query string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, strings.Repeat(fmt.Sprintf("GET /v1/pets%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", query, program.Key), 20))
		for some := make([]byte, 1024); ; {
			if _, err := conn.Read(some); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond) // deliberately slow
		}
	}
}

// certificate returns the flags for a self-signed certificate.
func certificate(t *testing.T) []string {
	t.Helper()
	s := httptest.NewTLSServer(nil) // it has a certificate
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--tls-cert", certFile, "--tls-key", keyFile}
}
