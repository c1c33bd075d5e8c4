package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// writePair writes a certificate of its own, with its key, into dir. The serial
// number tells it from others, and is the files' time of change too.
func writePair(t testing.TB, dir string, serial int64, begin, end time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: begin, NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeFile(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), serial)
	writeFile(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), serial)
	return certFile, keyFile
}

func writeFile(t testing.TB, file string, text []byte, second int64) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Unix(1e9+second, 0)); err != nil {
		t.Fatal(err)
	}
}

func validPair(t testing.TB, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	return writePair(t, dir, serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

// withTLS has a server use a new pair in dir.
func withTLS(t testing.TB, dir string) func(*Config) {
	certFile, keyFile := validPair(t, dir, 1)
	return func(c *Config) { c.CertFile, c.KeyFile = certFile, keyFile }
}

// secureClient is a client that speaks HTTP/2, unless it must not, and takes
// every certificate.
func secureClient(t testing.TB, http2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func TestOverTLSAreHTTP1AndHTTP2(t *testing.T) {
	t.Parallel()
	s := start(t, respond, withTLS(t, t.TempDir()))
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Errorf("URL: got %s, want one of https", s.URL())
	}
	if left := time.Until(s.CertificateExpiry()); left < 30*time.Minute || left > time.Hour {
		t.Errorf("CertificateExpiry: got %v from now, want within the hour", left)
	}
	for version, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		resp, err := secureClient(t, http2).Post(s.URL(), "text/plain", strings.NewReader("body"))
		if err != nil || resp.StatusCode != http.StatusOK || resp.Proto != version {
			t.Errorf("%s: got %v (%v), want 200 by %s", version, resp, err, version)
		}
	}
}

func TestTLSIsOfVersion12AndUp(t *testing.T) {
	t.Parallel()
	s := start(t, respond, withTLS(t, t.TempDir()))
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if got := err == nil; got != want {
			t.Errorf("%s: got a connection %t (%v), want %t", tls.VersionName(version), got, err, want)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

func TestARequestWithoutTLSIsToldSo(t *testing.T) {
	t.Parallel()
	s := start(t, respond, withTLS(t, t.TempDir()))
	resp, err := http.Get("http://" + s.Addr().String())
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("HTTP without TLS: got %v (%v), want 400", resp, err)
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.buf.String(), text)
}

// served returns the serial number of the certificate in use.
func served(t *testing.T, address string) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestANewPairComesIntoUseWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, respond, withTLS(t, dir))
	if got := served(t, s.Addr().String()); got != 1 {
		t.Fatalf("serial number: got %d, want 1", got)
	}
	validPair(t, dir, 2)
	for end := time.Now().Add(patience); served(t, s.Addr().String()) != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("certificate: got the old one, want the new one by now")
		}
	}
}

func TestAPairThatCannotBeUsedIsLoggedOnceAndTheOldOneStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := validPair(t, dir, 1)
	var log lockedBuffer
	p, err := newPair(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 { return p.current.Load().Leaf.SerialNumber.Int64() }

	writeFile(t, certFile, []byte("half a certif"), 2)
	p.reload() // it has just changed, and may change still
	if got := log.count("level=ERROR"); got != 0 {
		t.Errorf("errors while the files change: got %d, want none", got)
	}
	for range 3 {
		p.reload()
	}
	if got := log.count("level=ERROR"); got != 1 || serial() != 1 {
		t.Errorf("a certificate that is none: got %d errors, serial number %d, want one error and 1", got, serial())
	}

	_ = os.Remove(keyFile)
	for range 3 {
		p.reload()
	}
	if got := log.count("level=ERROR"); got != 2 || serial() != 1 {
		t.Errorf("no key: got %d errors, serial number %d, want one more and 1", got, serial())
	}

	writePair(t, dir, 3, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	p.reload()
	p.reload()
	if got := log.count("expired on"); got != 1 || serial() != 1 {
		t.Errorf("an expired pair: got %d errors, serial number %d, want one and 1", got, serial())
	}

	validPair(t, dir, 4)
	p.reload()
	p.reload()
	if got := log.count("a new certificate is in use"); got != 1 || serial() != 4 {
		t.Errorf("a valid pair: got %d lines, serial number %d, want one and 4", got, serial())
	}
}

func TestAPairThatCannotBeUsedIsRefusedAtTheStartInOneSentence(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		file  string // which is named
		want  string
	}{
		"no certificate": {func(t *testing.T, dir string) { _ = os.Remove(dir + "/cert.pem") }, "cert.pem", "no such file"},
		"no key":         {func(t *testing.T, dir string) { _ = os.Remove(dir + "/key.pem") }, "key.pem", "no such file"},
		"a directory": {func(t *testing.T, dir string) {
			_ = os.Remove(dir + "/key.pem")
			_ = os.Mkdir(dir+"/key.pem", 0o700)
		}, "key.pem", "is a directory"},
		"an empty certificate":  {func(t *testing.T, dir string) { writeFile(t, dir+"/cert.pem", nil, 1) }, "cert.pem", "holds no certificate"},
		"a broken certificate":  {func(t *testing.T, dir string) { spoilBlock(t, dir+"/cert.pem") }, "cert.pem", "holds no certificate"},
		"the key twice":         {func(t *testing.T, dir string) { copyFile(t, dir+"/key.pem", dir+"/cert.pem") }, "cert.pem", "holds no certificate"},
		"the certificate twice": {func(t *testing.T, dir string) { copyFile(t, dir+"/cert.pem", dir+"/key.pem") }, "key.pem", "holds no private key"},
		"a broken key":          {func(t *testing.T, dir string) { spoilBlock(t, dir+"/key.pem") }, "key.pem", "does not belong"},
		"the key of another": {func(t *testing.T, dir string) {
			_, key := validPair(t, t.TempDir(), 2)
			copyFile(t, key, dir+"/key.pem")
		}, "key.pem", "does not belong"},
		"an encrypted key": {func(t *testing.T, dir string) {
			writeFile(t, dir+"/key.pem", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), 1)
		}, "key.pem", "is encrypted"},
		"an expired one":  {func(t *testing.T, dir string) { writePair(t, dir, 1, now.Add(-2*time.Hour), now.Add(-time.Hour)) }, "cert.pem", "expired on"},
		"one of tomorrow": {func(t *testing.T, dir string) { writePair(t, dir, 1, now.Add(time.Hour), now.Add(2*time.Hour)) }, "cert.pem", "not valid before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cfg := Config{Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), MaxConnections: 1}
			cfg.CertFile, cfg.KeyFile = validPair(t, dir, 1)
			c.spoil(t, dir)
			s, err := Listen(context.Background(), cfg)
			if err == nil {
				_ = s.Close()
				t.Fatal("got no error, want one")
			}
			text := err.Error()
			if !strings.Contains(text, filepath.Join(dir, c.file)) || !strings.Contains(text, c.want) || !strings.Contains(text, "; ") || strings.Contains(text, "\n") {
				t.Errorf("got %q, want one sentence with %s, %q and the next step", text, c.file, c.want)
			}
		})
	}
}

// spoilBlock leaves the first block of a file empty.
func spoilBlock(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	writeFile(t, file, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: []byte("nothing")}), 1)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, text, 1)
}

func TestAServerOfHTTP2ThatEndsCutsNoRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began, release := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	cfg := Config{
		Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), MaxConnections: 10,
		Drain: func(error) time.Duration { return 0 },
	}
	withTLS(t, dir)(&cfg)
	s, err := Listen(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- s.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(began)
				<-release
			}
			_, _ = io.WriteString(w, "whole")
		}), nil)
	}()
	client := secureClient(t, true)
	body := make(chan string, 1)
	go func() {
		resp, err := client.Get(s.URL() + "/slow")
		if err != nil {
			body <- err.Error()
			return
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		body <- string(text)
	}()
	<-began
	end()
	for !s.Draining() {
		time.Sleep(time.Millisecond)
	}
	close(release)
	if got := <-body; got != "whole" {
		t.Errorf("the response under way: got %q, want it whole", got)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
}
