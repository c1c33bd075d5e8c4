package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
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

// Listen listens at an address. A Unix socket is open to its owner and its group, and
// replaces one that a killed process left.
func Listen(addr string) (net.Listener, error) {
	network, address := Network(addr)
	if network == "tcp" {
		return net.Listen(network, address)
	}
	// Two processes that start at once must not both replace a socket.
	lock := flock.New(address+".lock", flock.SetPermissions(0o600)) // others must not hold it
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer lock.Close()
	if abandoned(address) {
		_ = os.Remove(address)
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: address, Net: network})
	if err != nil {
		return nil, err
	}
	// unixListener removes the socket before it closes. By then, another server may have the name.
	l.SetUnlinkOnClose(false)
	return unixListener{l}, os.Chmod(address, 0o660) // #nosec G302 -- its group has the proxy
}

// abandoned reports whether path is a socket on which no process listens.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// unixListener removes its socket a moment before it closes, so that a proxy turns to another
// server and waiting connections are accepted.
type unixListener struct{ *net.UnixListener }

func (l unixListener) Close() error {
	_ = os.Remove(l.Addr().String())
	time.Sleep(arrivalTime)
	return l.UnixListener.Close()
}

// URL returns the address for clients on this machine of a listener at addr, such as
// http://127.0.0.1:8080, or "" for a Unix socket.
func URL(addr net.Addr, secure bool) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return ""
	}
	local := *tcp
	if local.IP.IsUnspecified() {
		local.IP = net.IPv4(127, 0, 0, 1)
	}
	if secure {
		return "https://" + local.String()
	}
	return "http://" + local.String()
}

// limitListener limits how many connections are open. Accept waits for room in the channel
// open. When a connection ends, the ConnState hook of newHTTP makes room. Unlike
// netutil.LimitListener, it does not wrap connections: net/http needs their CloseWrite.
type limitListener struct {
	net.Listener
	open   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok { // otherwise a client that does not read costs the kernel megabytes
		_ = tcp.SetReadBuffer(socketBuffer)
		_ = tcp.SetWriteBuffer(socketBuffer)
	}
	select {
	case l.open <- struct{}{}: // even if closed is: a Unix socket still accepts for a moment
	default:
		select {
		case l.open <- struct{}{}:
		case <-l.closed:
			_ = conn.Close()
			return nil, net.ErrClosed
		}
	}
	return conn, nil
}

// Close ends the wait of Accept, because http.Server's Shutdown waits for Accept.
func (l *limitListener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// maxConnections returns Options.MaxConnections, or less if the process may not open as many
// files: the store and the admin address need some.
func maxConnections(o Options) int {
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // cannot fail
	limit := int(min(files.Cur, 1<<30))                  // it may be infinite
	most := max(limit-64, limit/2)
	if o.MaxConnections > most {
		o.Logger.Warn("the limit of open files allows fewer connections", "connections", most, "files", limit)
	}
	return min(o.MaxConnections, most)
}

// certificate returns a function for tls.Config.GetCertificate that reads the certificate
// from its files at most once a second. It keeps the last pair while the files do not match.
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
		case err == nil:
			current = &pair
			expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
		case current == nil:
			return nil, fmt.Errorf("cannot use the certificate: %w", err)
		default:
			o.Logger.Error("the new certificate cannot be used; the old one stays in use",
				"error", err, "expires", current.Leaf.NotAfter)
		}
		return current, nil
	}
}

// serveAdmin serves metrics, the handler's probes, and profiles if enabled. It has its own
// limit of connections, which clients cannot exhaust.
func (s *Server) serveAdmin() *http.Server {
	o := s.options
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{}))
	mux.Handle("/livez", o.Handler)
	mux.Handle("/readyz", o.Handler)
	if o.Profiles { // except the command line, which may hold a password
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	open := make(chan struct{}, adminConnections)
	admin := newHTTP(mux, open, o.Logger)
	admin.SetKeepAlivesEnabled(false) // there are few connections
	go func() { _ = admin.Serve(&limitListener{Listener: o.Admin, open: open, closed: make(chan struct{})}) }()
	return admin
}
