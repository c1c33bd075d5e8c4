package server

import (
	"bufio"
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
	"net"
	"net/http"
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
	_, _ = io.WriteString(conn, request("HEAD /ok"))
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodHead})
	if err != nil || response.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("got %v, error %v, want Strict-Transport-Security", response, err)
	}
	// The connection must not be reset before the response to too large a header is read.
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 4*maxHeader))
	if response, err := io.ReadAll(reader); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
		t.Errorf("a large header: got %q, error %v, want 431", response, err)
	}
}

// TestHandshakeErrors checks that clients that leave are no warnings.
func TestHandshakeErrors(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "pets.example")
	lines, log := io.Pipe()
	r := start(t, Options{
		CertFile: certFile, KeyFile: keyFile,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	scanner := bufio.NewScanner(lines)
	for name, c := range map[string]struct {
		send, level string
		leave       func(*net.TCPConn) error
	}{
		"nothing":     {"", "DEBUG", (*net.TCPConn).Close},
		"a part":      {"\x16\x03\x01\x02\x00\x01", "DEBUG", (*net.TCPConn).CloseWrite},
		"a reset":     {"", "DEBUG", func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }},
		"plain HTTP":  {request("GET /ok"), "DEBUG", (*net.TCPConn).CloseWrite},
		"other bytes": {strings.Repeat("x", 100), "WARN", (*net.TCPConn).CloseWrite},
	} {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, c.send)
		_ = c.leave(conn.(*net.TCPConn))
		if !scanner.Scan() || !strings.Contains(scanner.Text(), "level="+c.level) || !strings.Contains(scanner.Text(), "TLS handshake error") {
			t.Errorf("%s: got %s, want the error as %s", name, scanner.Text(), c.level)
		}
	}
	_ = lines.Close()
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
