package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
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
			if err := os.Rename(step.from, step.to); err != nil {
				s.Fatal(err)
			}
			time.Sleep(time.Second)
			for range 2 { // of which one reads the files
				go get()
			}
			got, cert := get()
			wantEqual(s.T, "response", got, "http/1.1[max-age=31536000] ["+step.want+"]")
			families := must(registry.Gather())
			expiry := families[len(families)-1].Metric[0].Gauge.GetValue()
			wantEqual(s.T, "expiry", expiry, float64(cert.NotAfter.Unix()))
		}
		tls11 := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		old := tls.Client(s.dial(s.conns), tls11)
		defer old.Close()
		wantEqual(s.T, "TLS 1.1 is served", old.Handshake() == nil, false)
		synctest.Wait()
		for _, text := range []string{`ERROR msg="the new certificate cannot be used`, `DEBUG msg="http: TLS handshake error`} {
			wantEqual(s.T, log.String()+"has "+text, strings.Count(log.String(), text), 1)
		}
	})
}

// send sends data on a new connection.
func send(l net.Listener, data string) net.Conn {
	conn := must(net.Dial(l.Addr().Network(), l.Addr().String()))
	_, _ = io.WriteString(conn, data)
	return conn
}

// TestListen checks that a server replaces the Unix socket of a killed one, but not one that is served, nor while
// another server starts; and that it removes only its own socket, and still accepts a waiting connection then.
func TestListen(t *testing.T) {
	limit(t)
	t.Chdir(t.TempDir()) // its path may be too long for a socket
	const path = "http.sock"
	_ = must(Listen("unix:" + path)).(unixListener).UnixListener.Close() // as if it was killed
	other := flock.New(path + ".lock")
	must(other.TryLock())
	synctest.Test(t, func(t *testing.T) {
		if _, err := Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), path+".lock") {
			t.Errorf("while another server starts: got error %v, want one with the path of the lock", err)
		}
	})
	_ = other.Close()
	served := must(Listen("unix:" + path))
	if _, err := Listen("unix:" + path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server: got error %v, want %v", err, syscall.EADDRINUSE)
	}
	for file, want := range map[string]os.FileMode{path: os.ModeSocket | 0o660, path + ".lock": 0o600} {
		wantEqual(t, file, must(os.Stat(file)).Mode(), want)
	}
	_ = os.Rename(path, "moved")
	second := must(Listen("unix:" + path))
	_ = served.Close()
	must(os.Lstat(path)) // another server's socket is still there
	synctest.Test(t, func(t *testing.T) {
		defer send(second, "").Close()
		go second.Close()
		synctest.Wait() // until it pauses
		_, err := os.Lstat(path)
		if conn, err2 := second.Accept(); !os.IsNotExist(err) || err2 != nil {
			t.Errorf("while it closes: got the socket, error %v, connection %v, error %v, want a connection only", err, conn, err2)
		}
		time.Sleep(arrivalTime)
	})
	for _, path := range []string{path + ".lock", "@abstract", strings.Repeat("x", len(syscall.RawSockaddrUnix{}.Path))} {
		_, err := Listen("unix:" + path)
		if _, err2 := os.Lstat(path + ".lock"); err == nil || !os.IsNotExist(err2) {
			t.Errorf("%s: got errors %v, %v, want one, and no lock", path, err, err2)
		}
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
		raw := must(conn.(syscall.Conn).SyscallConn())
		_ = raw.Control(func(fd uintptr) {
			for _, option := range []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF} {
				if size, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option); err != nil || size > 64<<10 {
					t.Errorf("%s, option %d: got %d bytes, error %v, want at most 64 KiB", addr, option, size, err)
				}
			}
		})
	}
}

// TestLeft checks that a Unix socket serves no client that has left, but one that has only ended its request.
func TestLeft(t *testing.T) {
	limit(t)
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
	wantEqual(t, "status", roundTrip(client, "").StatusCode, 200)
	wantEqual(t, "requests of a client that has left", len(h.running), 0)
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
		wantEqual(s.T, "one more connection, after another ended", s.get("/ok").StatusCode, 200)
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
			wantEqual(s.T, "status and close", fmt.Sprint(r.StatusCode, r.Close), "200 true")
			synctest.Wait()
		}
		for i, want := range []int{0, 200} {
			wantEqual(s.T, fmt.Sprint("idle connection ", i), roundTrip(idle[i], request("GET /livez")).StatusCode, want)
		}
		wantEqual(s.T, "the oldest connection, which is answered", <-slow, 200)
		s.wantTime(time.Second)
		large := "X: " + strings.Repeat("x", 20<<10) + "\r\n"
		for line, want := range map[string]int{
			request("GET /livez", large): 431, request("GET /metrics"): 200, request("GET /ok"): 404,
			request("GET /debug/pprof/heap"): 200, request("GET /debug/pprof/cmdline"): 404, // it may have a password
		} {
			wantEqual(s.T, line, roundTrip(s.dial(s.admin), line).StatusCode, want)
		}
	})
}

// certified returns options with a new certificate.
func certified(t *testing.T, name string) Options {
	t.Helper()
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
		wantEqual(t, fmt.Sprint("connections with ", files, " files"), cap(s.connections), want)
	}
}
