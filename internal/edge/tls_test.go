package edge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCertificateReload(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "old.example", time.Now().Add(time.Hour))
	r := start(t, newHandlers(), ServeOptions{CertFile: certFile, KeyFile: keyFile})
	served := func() string {
		conn, err := tls.Dial("tcp", r.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
			t.Errorf("protocol: got %q, want http/1.1", got)
		}
		return conn.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := served(); got != "old.example" {
		t.Errorf("got the certificate of %s, want old.example", got)
	}
	// If only one of the files is new, the old certificate stays in use.
	writeCertificate(t, filepath.Join(dir, "new.pem"), keyFile, "new.example", time.Now().Add(time.Hour))
	r.looksAgain()
	if got := served(); got != "old.example" {
		t.Errorf("with half a pair: got the certificate of %s, want old.example", got)
	}
	if err := (&certificate{certFile: certFile, keyFile: keyFile}).load(); !errors.Is(err, ErrCertificate) {
		t.Errorf("half a pair at the start: got error %v, want %v", err, ErrCertificate)
	}
	if err := os.Rename(filepath.Join(dir, "new.pem"), certFile); err != nil {
		t.Fatal(err)
	}
	r.looksAgain()
	if got := served(); got != "new.example" {
		t.Errorf("got the certificate of %s, want new.example", got)
	}
	chain, _ := os.ReadFile(certFile)
	if err := os.WriteFile(certFile, append(chain, chain...), 0o600); err != nil {
		t.Fatal(err)
	}
	r.looksAgain()
	if c, _ := r.server.certificate.get(nil); len(c.Certificate) != 2 {
		t.Errorf("with a chain of two: got %d certificates", len(c.Certificate))
	}
}

// TestRefusedHeader sends more of a header than net/http reads. The connection must not
// be reset before its response is read.
func TestRefusedHeader(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "example", time.Now().Add(time.Hour))
	for _, o := range []ServeOptions{{}, {CertFile: certFile, KeyFile: keyFile}} {
		conn, err := net.Dial("tcp", start(t, newHandlers(), o).addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if o.CertFile != "" {
			conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 4*maxHeader))
		response, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
			t.Errorf("got %q, error %v, want 431", response, err)
		}
	}
}

// looksAgain makes the next handshake read the certificate files again.
func (r *running) looksAgain() {
	c := r.server.certificate
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

func writeCertificate(t *testing.T, certFile, keyFile, name string, expires time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: expires}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
