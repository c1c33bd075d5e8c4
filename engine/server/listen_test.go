package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTLS checks new files without a restart, but not half a pair; HTTP/1.1 only; and the log of failed handshakes.
func TestTLS(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	o, other := certified(t, "old.example"), certified(t, "new.example")
	o.Metrics, o.Logger = registry, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	inBubble(t, o, func(s *running) {
		get := func() (got string, cert *x509.Certificate) {
			conn := tls.Client(s.dial(s.conns), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
			defer conn.Close()
			r := roundTrip(conn, request("GET /ok"))
			state := conn.ConnectionState()
			cert = state.PeerCertificates[0]
			return fmt.Sprint(state.NegotiatedProtocol, r.Header["Strict-Transport-Security"], cert.DNSNames), cert
		}
		for _, step := range []struct{ from, to, want string }{
			{o.CertFile, o.CertFile, "old.example"},
			{other.CertFile, o.CertFile, "old.example"}, // half a pair
			{other.KeyFile, o.KeyFile, "new.example"},
		} {
			require.NoError(s, os.Rename(step.from, step.to))
			time.Sleep(time.Second)
			for range 2 { // of which one reads the files
				go get()
			}
			got, cert := get()
			assert.Equal(s, "http/1.1[max-age=31536000] ["+step.want+"]", got, "response")
			families := must(registry.Gather())
			expiry := families[len(families)-1].Metric[0].Gauge.GetValue()
			assert.EqualValues(s, cert.NotAfter.Unix(), expiry, "expiry of %s", step.want)
		}
		tls11 := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		assert.Error(s, tls.Client(s.dial(s.conns), tls11).Handshake(), "with TLS 1.1")
		synctest.Wait()
		for _, text := range []string{`ERROR msg="the new certificate cannot be used`, `DEBUG msg="http: TLS handshake error`} {
			assert.Equal(s, 1, strings.Count(log.String(), text), "lines with %s in the log:\n%s", text, &log)
		}
	})
}

func send(l net.Listener, data string) net.Conn {
	conn := must(net.Dial(l.Addr().Network(), l.Addr().String()))
	_, _ = io.WriteString(conn, data)
	return conn
}

// TestListen checks that a server replaces the Unix socket of a killed one, but not one that is served, nor while
// another server starts; and that it removes only its own socket, and still accepts a waiting connection then.
func TestListen(t *testing.T) {
	defer limit(t).Stop()
	t.Chdir(t.TempDir()) // its path may be too long for a socket
	const path = "http.sock"
	_ = must(Listen("unix:" + path)).(unixListener).UnixListener.Close() // as if it was killed
	other := flock.New(path + ".lock")
	must(other.TryLock())
	synctest.Test(t, func(t *testing.T) {
		_, err := Listen("unix:" + path)
		assert.ErrorContains(t, err, path+".lock", "while another server starts")
	})
	_ = other.Close()
	served := must(Listen("unix:" + path))
	_, err := Listen("unix:" + path)
	assert.ErrorIs(t, err, syscall.EADDRINUSE, "a second server")
	for file, want := range map[string]os.FileMode{path: os.ModeSocket | 0o660, path + ".lock": 0o600} {
		assert.Equal(t, want, must(os.Stat(file)).Mode(), file)
	}
	_ = os.Rename(path, "moved")
	second := must(Listen("unix:" + path))
	_ = served.Close()
	require.FileExists(t, path, "another server's socket")
	synctest.Test(t, func(t *testing.T) {
		defer send(second, "").Close()
		go second.Close()
		synctest.Wait() // until it pauses
		assert.NoFileExists(t, path, "while it closes")
		_, err := second.Accept()
		assert.NoError(t, err, "a connection while it closes")
		time.Sleep(arrivalTime)
	})
	for _, path := range []string{path + ".lock", "@abstract", strings.Repeat("x", len(syscall.RawSockaddrUnix{}.Path))} {
		_, err := Listen("unix:" + path)
		assert.Error(t, err, path)
		assert.NoFileExists(t, path+".lock")
	}
}

// TestBuffers checks how much the kernel holds for a client or a handler that does not read.
func TestBuffers(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, addr := range []string{"127.0.0.1:0", "unix:http.sock"} {
		l := &limitListener{Listener: must(Listen(addr)), open: make(chan struct{}, 1)}
		defer l.Close()
		defer send(l, "").Close()
		conn := must(l.Accept())
		defer conn.Close()
		file := must(conn.(interface{ File() (*os.File, error) }).File())
		defer file.Close()
		for _, option := range []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF} {
			size := must(syscall.GetsockoptInt(int(file.Fd()), syscall.SOL_SOCKET, option))
			assert.LessOrEqual(t, size, 64<<10, "%s, option %d", addr, option)
		}
	}
}

// TestLeft checks that a Unix socket serves no client that has left, but one that has only ended its request.
func TestLeft(t *testing.T) {
	defer limit(t).Stop()
	t.Chdir(t.TempDir())
	l := must(Listen("unix:http.sock"))
	s, h := newServer(Options{Listeners: []net.Listener{l}, MaxConnections: 1}) // served one after the other
	defer s.http.Close()
	close(h.done)
	_ = send(l, request("GET /hang")).Close()
	client := send(l, request("GET /ok"))
	defer client.Close()
	_ = client.(*net.UnixConn).CloseWrite()
	go s.http.Serve(s.listeners[0])
	assert.Equal(t, 200, roundTrip(client, "").StatusCode)
	assert.Empty(t, h.running, "requests of a client that has left")
}

func TestConnectionLimit(t *testing.T) {
	inBubble(t, Options{MaxConnections: 2}, func(s *running) {
		for range 3 { // which are not counted
			s.get("/hijack")
		}
		first, second := s.dial(s.conns), s.dial(s.others)
		roundTrip(first, request("GET /ok"))
		roundTrip(second, request("GET /ok"))
		time.AfterFunc(time.Minute, func() { _ = first.Close() })
		assert.Equal(s, 200, s.get("/ok").StatusCode, "one more connection, after another ended")
		s.wantTime(time.Minute)
		s.dial(s.conns) // also waits
		s.cancel(nil)
		s.wantEnd(time.Minute, nil) // it does not wait until a connection ends
	})
}

// TestAdmin checks what the admin address serves, and that it answers despite idle connections.
func TestAdmin(t *testing.T) {
	inBubble(t, Options{Profiles: true}, func(s *running) {
		slow := make(chan int)
		go func() { slow <- roundTrip(s.dial(s.admin), request("GET /debug/pprof/heap?seconds=1")).StatusCode }()
		synctest.Wait()
		var idle []net.Conn
		for range adminConnections - 1 {
			idle = append(idle, s.dial(s.admin))
		}
		for range adminConnections { // the first one exceeds the limit
			r := roundTrip(s.dial(s.admin), request("GET /livez"))
			assert.Equal(s, "200 true", fmt.Sprint(r.StatusCode, r.Close), "status and close")
			synctest.Wait()
		}
		for i, want := range []int{0, 200} {
			assert.Equal(s, want, roundTrip(idle[i], request("GET /livez")).StatusCode, "idle connection %d", i)
		}
		assert.Equal(s, 200, <-slow, "the oldest connection, which is answered")
		s.wantTime(time.Second)
		large := "X: " + strings.Repeat("x", 20<<10) + "\r\n"
		for line, want := range map[string]int{
			request("GET /livez", large): 431, request("GET /metrics"): 200, request("GET /ok"): 404,
			request("GET /debug/pprof/heap"): 200, request("GET /debug/pprof/cmdline"): 404, // it may have a password
		} {
			assert.Equal(s, want, roundTrip(s.dial(s.admin), line).StatusCode, "%.80q", line)
		}
	})
}

func certified(t *testing.T, name string) Options {
	dir := t.TempDir()
	o := Options{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	key, _ := ecdsa.GenerateKey(elliptic.P256(), nil) // New reports a failure of this or what follows
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, _ := x509.CreateCertificate(nil, template, template, key.Public(), key)
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	_ = os.WriteFile(o.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600)
	_ = os.WriteFile(o.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	return o
}

// TestMaxConnections checks that the limit of open files bounds that of connections.
func TestMaxConnections(t *testing.T) {
	var old syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old)
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }()
	for files, want := range map[uint64]int{64: 32, 100: 50, 1000: 936, 1100: 1000} {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: old.Max})
		s, _ := newServer(Options{})
		assert.Equal(t, want, cap(s.connections), "connections with %d files", files)
	}
}
