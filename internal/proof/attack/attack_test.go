//go:build attack

// Package attack measures the program's memory under attacks that are cheap for
// the attacker. `make attack` runs it.
package attack

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
)

const (
	podMemory  = 256 << 20        // the limit in deploy/kubernetes
	patience   = 5 * time.Second  // how long a client with a key may wait for a response
	attackTime = 8 * time.Second  // how long an attack lasts
	startTime  = 20 * time.Second // how long the program may take to answer
)

var path = example.Base() + "/pets"

func TestAttack(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "192MiB") // three quarters of podMemory, as serve sets it there
	t.Setenv("PETSTORE_API_KEYS", program.Key)
	pair := certificate(t)
	nested := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for name, attack := range map[string]struct {
		connections int
		tls         bool
		text        string // what is sent on each connection
	}{
		"unfinished headers":           {4000, true, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 33_000)},
		"slow bodies of one key":       {4000, false, header("POST", "", 65_536) + `{"name":"` + strings.Repeat("x", 60_000)},
		"nested bodies":                {1000, true, strings.Repeat(header("POST", "", len(nested))+nested, 20)},
		"slow readers of pages of 20":  {1000, false, strings.Repeat(header("GET", "", 0), 20)},
		"slow readers of one pet":      {1000, false, strings.Repeat(header("GET", "/1", 0), 20)},
		"slow readers of pages of 100": {1000, false, strings.Repeat(header("GET", "?limit=100", 0), 20)},
	} {
		t.Run(name, func(t *testing.T) {
			addr := freeAddress(t)
			cmd := exec.CommandContext(t.Context(), "../../../.bin/petstore", "serve", "--store", "memory:", "--addr", addr)
			url := "http://" + addr + path
			if attack.tls {
				cmd.Args = append(cmd.Args, "--tls-cert", pair, "--tls-key", pair)
				url = "https://" + addr + path
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			answer(t, &client, http.MethodGet, url, "", startTime)
			large := example.Body(fmt.Sprintf(`"name":%q`, strings.Repeat("<", 65_000))) // six bytes each in JSON
			for range 100 {
				answer(t, &client, http.MethodPost, url, large, 0)
			}
			text := []byte(attack.text)
			for range attack.connections {
				go send(addr, attack.tls, text)
			}
			slowest := time.Duration(0)
			for end := time.Now().Add(attackTime); time.Now().Before(end); {
				slowest = max(slowest, answer(t, &client, http.MethodGet, url+"?after=100", "", 4*patience))
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			_ = cmd.Process.Kill() // which ends the attack
			_ = cmd.Wait()
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			var peak int64
			if _, scanErr := fmt.Sscanf(rest, "%d kB", &peak); scanErr != nil {
				t.Fatalf("VmHWM in /proc: %v, %v", err, scanErr)
			}
			peak <<= 10
			t.Logf("peak of memory: %d MiB; slowest response: %v", peak>>20, slowest.Round(time.Millisecond))
			if peak > podMemory || slowest > patience {
				t.Errorf("got %d bytes and a response after %v, want at most %d and %v", peak, slowest, podMemory, patience)
			}
		})
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// answer repeats a request until it succeeds, and returns how long that took.
func answer(t *testing.T, client *http.Client, method, url, body string, within time.Duration) time.Duration {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) { // between tries
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+program.Key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode < 300 {
				return time.Since(begin)
			}
		}
		if time.Since(begin) > within {
			t.Fatalf("%s: got %v (%v), want a success", method, resp, err)
		}
	}
}

// send sends text and reads little of the responses, until the program ends.
func send(addr string, secure bool, text []byte) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return // the server accepts no more
	}
	defer conn.Close()
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	_, err = conn.Write(text)
	for ; err == nil; time.Sleep(100 * time.Millisecond) { // deliberately slow
		_, err = conn.Read(make([]byte, 1024))
	}
}

// header returns the header of a request with the key.
func header(method, target string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		method, path+target, program.Key, length)
}

// certificate writes a self-signed certificate and its key to a file.
func certificate(t *testing.T) (file string) {
	s := httptest.NewTLSServer(nil) // it has a certificate
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	file = filepath.Join(t.TempDir(), "pair.pem")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}
