package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "old.example")
	var log bytes.Buffer
	o := Options{CertFile: certFile, KeyFile: keyFile, Logger: slog.New(slog.NewTextHandler(&log, nil)), Metrics: prometheus.NewRegistry()}
	c, err := loadCertificate(o)
	if err != nil {
		t.Fatal(err)
	}
	want := func(name string) {
		t.Helper()
		c.read = time.Time{} // so that the files are read again
		if got, err := c.get(nil); err != nil || got.Leaf.DNSNames[0] != name {
			t.Errorf("got the certificate of %s, error %v, want %s", got.Leaf.DNSNames[0], err, name)
		}
	}
	want("old.example")
	writeCertificate(t, filepath.Join(dir, "new.pem"), keyFile, "new.example") // half a pair
	want("old.example")
	want("old.example")
	o.Metrics = prometheus.NewRegistry()
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "cannot use the certificate") {
		t.Errorf("half a pair at the start: got error %v, want one", err)
	}
	if err := os.Rename(filepath.Join(dir, "new.pem"), certFile); err != nil {
		t.Fatal(err)
	}
	want("new.example")
	for _, line := range []string{"the new certificate cannot be used", "a new certificate is in use"} {
		if strings.Count(log.String(), line) != 1 {
			t.Errorf("log: got %s, want %q once", log.String(), line)
		}
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "old.example")
	r := start(t, Options{CertFile: certFile, KeyFile: keyFile})
	conn, err := tls.Dial("tcp", r.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("got %s, want http/1.1", got)
	}
	// The connection must not be reset before the response to too large a header is read.
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 4*maxHeader))
	if response, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
		t.Errorf("a large header: got %q, error %v, want 431", response, err)
	}
}

func writeCertificate(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	err3 := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
	err4 := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
}
