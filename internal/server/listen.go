package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Network splits an address, HOST:PORT or unix:PATH, for net.Listen and net.Dial.
func Network(addr string) (network, address string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return "unix", path
	}
	return "tcp", addr
}

// Listen listens at an address. A Unix socket is for its owner and group only. Listen
// replaces the socket of a process that was killed, but not one that is served. One process
// at a time decides, by a lock file that no other user can open.
func Listen(addr string) (net.Listener, error) {
	network, address := Network(addr)
	if network == "tcp" {
		return net.Listen(network, address)
	}
	lock, err := os.OpenFile(address+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX) // a socket refuses connections until its process listens
	if info, err := os.Lstat(address); err == nil && info.Mode().Type() == os.ModeSocket {
		if conn, err := net.Dial(network, address); err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(address)
		}
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: address, Net: network})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return unixListener{l}, os.Chmod(address, 0o660) // #nosec G302 -- its group has the proxy
}

// unixListener removes its socket a moment before it closes: a proxy turns to another server,
// and what has connected is accepted.
type unixListener struct{ *net.UnixListener }

func (l unixListener) Close() error {
	_ = os.Remove(l.Addr().String())
	time.Sleep(arrivalTime)
	return l.UnixListener.Close()
}

// URL returns the address at which a client on this machine reaches a listener at addr,
// such as http://127.0.0.1:8080. A Unix socket has none.
func URL(addr net.Addr, secure bool) string {
	if addr.Network() == "unix" {
		return ""
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	address := *addr.(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		address.IP = net.IPv4(127, 0, 0, 1)
	}
	return scheme + address.String()
}

// limitListener keeps a connection waiting until there is room in open, from which the
// server's ConnState hook removes it. Unlike netutil.LimitListener, it does not wrap
// connections: net/http needs their CloseWrite to end responses to clients that still send.
// Close ends the wait, because http.Server's Shutdown waits for Accept without a limit.
type limitListener struct {
	net.Listener
	open   chan struct{}
	closed chan struct{}
	close  func() error
}

func limit(l net.Listener, open chan struct{}) limitListener {
	closed := make(chan struct{})
	return limitListener{l, open, closed, sync.OnceValue(func() error {
		close(closed)
		return l.Close()
	})}
}

func (l limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok { // the kernel would hold megabytes for a client that does not read
		_ = tcp.SetReadBuffer(socketBuffer)
		_ = tcp.SetWriteBuffer(socketBuffer)
	}
	select {
	case l.open <- struct{}{}:
		return conn, nil
	default:
	}
	select {
	case l.open <- struct{}{}:
		return conn, nil
	case <-l.closed: // while it waited
		_ = conn.Close()
		return nil, net.ErrClosed
	}
}

func (l limitListener) Close() error { return l.close() }

// maxConnections returns Options.MaxConnections, or less if the process may not open as
// many files: the store and the admin address need some.
func maxConnections(o Options) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return o.MaxConnections
	}
	limit := int(min(files.Cur, 1<<30)) // it may be infinite
	most := max(limit-64, limit/2)
	if o.MaxConnections > most {
		o.Logger.Warn("the limit of open files allows fewer connections", "connections", most, "files", limit)
	}
	return min(o.MaxConnections, most)
}

// certificate returns a function for tls.Config.GetCertificate that returns the certificate
// in the files. It reads them at most once a second, and keeps the old pair while the new
// one does not match. It sets expiry to the time when the certificate expires.
func certificate(o Options, expiry prometheus.Gauge) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var mu sync.Mutex
	var current *tls.Certificate
	var read time.Time
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(read) < time.Second {
			return current, nil
		}
		read = time.Now()
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		switch {
		case err != nil && current == nil:
			return nil, fmt.Errorf("cannot use the certificate: %w", err)
		case err != nil:
			o.Logger.Error("the new certificate cannot be used; the old one stays in use",
				"error", err, "expires", current.Leaf.NotAfter)
		case current == nil || !slices.EqualFunc(pair.Certificate, current.Certificate, bytes.Equal): // with its chain
			current = &pair
			expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
			o.Logger.Info("a new certificate is in use", "expires", pair.Leaf.NotAfter)
		}
		return current, nil
	}
}

// serveAdmin serves metrics, the handler's probes, and profiles if enabled, where
// clients cannot take all connections.
func (s *Server) serveAdmin() *http.Server {
	o := s.options
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{}))
	mux.Handle("/livez", o.Handler)
	mux.Handle("/readyz", o.Handler)
	if o.Profiles { // without the command line, which may have a password
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	open := make(chan struct{}, adminConnections)
	admin := newHTTP(mux, open, o.Logger)
	admin.SetKeepAlivesEnabled(false)                     // nobody holds one of the few connections
	go func() { _ = admin.Serve(limit(o.Admin, open)) }() // until it is closed
	return admin
}
