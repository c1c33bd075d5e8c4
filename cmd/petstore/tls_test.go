package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/petstore/internal/proof/contract/contracttest"
)

// writeTestPair writes the certificate and the key that httptest has.
func writeTestPair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair, dir := s.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// startSecure starts the program with TLS. Its client speaks HTTP/2.
func startSecure(t *testing.T, args ...string) *process {
	t.Helper()
	certFile, keyFile := writeTestPair(t)
	p := startProcess(t, contracttest.NewJudge(t), append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, args...)...)
	p.client.Transport = secureTransport(true)
	return p
}

func secureTransport(http2 bool) *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
}

func TestOverTLSTheServiceIsTheSame(t *testing.T) {
	t.Parallel()
	p := startSecure(t, "--store", "memory:", "--admin-addr", ":0")
	if !strings.HasPrefix(p.base, "https://127.0.0.1:") {
		t.Errorf("the address in the log: got %s, want one of https", p.base)
	}
	for version, transport := range map[string]*http.Transport{"HTTP/1.1": secureTransport(false), "HTTP/2.0": secureTransport(true)} {
		p.client.Transport = transport
		var made, got pet
		resp, err := p.call("POST", "/v1/pets", pet{Name: "Frank", CategoryID: 1, Status: "available"}, &made)
		if err != nil || resp.StatusCode != http.StatusCreated || resp.Proto != version {
			t.Fatalf("%s: got %v (%v), want 201", version, resp, err)
		}
		if _, err := p.call("GET", resp.Header.Get("Location"), nil, &got); err != nil || got != made {
			t.Errorf("%s: got %v (%v), want %v", version, got, err, made)
		}
	}
	admin := metricsLine.FindStringSubmatch(p.output.String())[1]
	if _, text := fetch(t, admin); !strings.Contains(text, "\npetstore_tls_certificate_expiry_timestamp_seconds 3.6") { // 2084
		t.Errorf("metrics: got no certificate that expires in 2084 in\n%s", text)
	}
	var stderr output
	code := run(t.Context(), environment{
		args: []string{"health"},
		getenv: func(name string) string {
			return map[string]string{"PETSTORE_ADDR": strings.TrimPrefix(p.base, "https://"), "PETSTORE_TLS_CERT": "cert.pem"}[name]
		},
		stdout: &stderr, stderr: &stderr,
	})
	if code != 0 {
		t.Errorf("health: got %d (%s), want 0", code, stderr.String())
	}
}

func TestACertificateWithoutAKeyIsAFaultOfTheCommandLine(t *testing.T) {
	t.Parallel()
	for flag, other := range map[string]string{"--tls-cert": "--tls-key", "--tls-key": "--tls-cert"} {
		var stderr output
		code := run(t.Context(), environment{
			args:   []string{"serve", "--addr", "127.0.0.1:0", "--store", "memory:", flag, "a.pem"},
			getenv: func(string) string { return "" },
			stdout: &stderr, stderr: &stderr,
		})
		if text := stderr.String(); code != 2 || !strings.Contains(text, flag+" needs "+other) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s alone: got %d %q, want 2 and one sentence that names %s", flag, code, text, other)
		}
	}
}

func TestOverHTTP2AServerThatIsToldToEndCutsNoRequestUnderLoad(t *testing.T) {
	t.Parallel()
	address := "sqlite:" + filepath.Join(t.TempDir(), "pets.db")
	ending, staying := startSecure(t, "--store", address, "--drain", "10s"), startSecure(t, "--store", address)
	var left atomic.Bool // requests go to the server that stays
	load := &keptLoad{stop: make(chan struct{})}
	for range 8 {
		load.group.Go(func() {
			for {
				select {
				case <-load.stop:
					return
				default:
				}
				p := ending
				if left.Load() {
					p = staying
				}
				var made pet
				resp, err := p.call("POST", "/v1/pets", pet{Name: "Frank", CategoryID: 1, Status: "available"}, &made)
				if err != nil || resp.StatusCode != http.StatusCreated {
					t.Errorf("a request while the server ends: got %v (%v), want 201", resp, err)
					return
				}
				load.done.Add(1)
			}
		})
	}
	load.wait(t, 100)
	ending.signal(t, syscall.SIGTERM)
	ending.waitFor(t, `"msg":"stopping`)
	load.wait(t, 20) // while it drains, each on a new connection
	left.Store(true)
	load.wait(t, 50)
	load.finish()
	if state := ending.wait(t); state.ExitCode() != 0 {
		t.Errorf("exit: got %v, want status 0: %s", state, ending.output.String())
	}
}
