package server

import (
	"context"
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
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(address) > most || strings.HasPrefix(address, "@") {
		return nil, fmt.Errorf("%s: the path of a Unix socket must have at most %d bytes and not begin with @", address, most)
	}
	if info, err := os.Lstat(address); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket: %w", address, syscall.EADDRINUSE)
	}
	// Two processes that start at once must not both replace a socket. Nor may they lock two
	// files of one name, so the file stays.
	lock := flock.New(address+".lock", flock.SetPermissions(0o600)) // others must not lock it
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, lockTimeout/100); err != nil {
		return nil, fmt.Errorf("cannot lock %s within %v: %w", lock.Path(), lockTimeout, err)
	}
	defer lock.Close()
	if conn, err := net.Dial(network, address); err == nil {
		_ = conn.Close() // it is in use, as ListenUnix reports
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(address) // no process listens on it
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: address, Net: network})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // unixListener does it
	socket, err := os.Lstat(address)
	return unixListener{l, socket}, errors.Join(err, os.Chmod(address, 0o660)) // #nosec G302 -- its group has the proxy
}

// unixListener removes its socket a moment before it closes. A proxy then uses another server,
// and waiting connections are still accepted.
type unixListener struct {
	*net.UnixListener
	socket os.FileInfo
}

func (l unixListener) Close() error {
	path := l.Addr().String()
	if info, err := os.Lstat(path); err == nil && os.SameFile(info, l.socket) { // not another server's
		_ = os.Remove(path)
	}
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

// limitListener limits how many connections are open. Accept sends to the channel open, and the
// http.Server's ConnState hook receives from it when a connection ends. Unlike
// netutil.LimitListener, it does not wrap connections: net/http needs their CloseWrite.
type limitListener struct {
	net.Listener
	open     chan struct{} // has a value for each open connection
	shutdown chan struct{} // is closed when the http.Server shuts down, which waits for Accept
	once     sync.Once
}

func (l *limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.open <- struct{}{}:
	case <-l.shutdown:
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	limitBuffers(conn)
	if _, ok := conn.(*net.UnixConn); ok { // TCP cannot tell
		// This fails if the client has left, perhaps before the server started, but not if it has
		// only ended its request. From a closed connection, net/http reads no request.
		if _, err := conn.Write(nil); err != nil {
			_ = conn.Close()
		}
	}
	return conn, nil
}

// limitBuffers limits the buffers of a connection in the kernel, which otherwise grow to
// megabytes for a client that does not read.
func limitBuffers(conn net.Conn) {
	if buffered, ok := conn.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok {
		_ = buffered.SetReadBuffer(socketBuffer)
		_ = buffered.SetWriteBuffer(socketBuffer)
	}
}

// Close closes the listener once: http.Server's Shutdown calls it again.
func (l *limitListener) Close() (err error) {
	l.once.Do(func() { err = l.Listener.Close() })
	return err
}

// maxConnections returns Options.MaxConnections, or less if the limit of open files is low: the
// store and the admin address need some.
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

// certificate returns a function for tls.Config.GetCertificate that reads the files at most
// once a second. It keeps the last certificate while the files do not match.
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

// serveAdmin serves metrics, the handler's probes, and profiles if enabled. Its connections
// have their own limit.
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
	admin := newHTTP(o, mux)
	admin.ConnState = closeOldest()
	admin.SetKeepAlivesEnabled(false) // there are few connections
	go func() { _ = admin.Serve(o.Admin) }()
	return admin
}

// closeOldest returns a ConnState hook that limits how many connections are open. A connection that
// exceeds the limit closes the oldest without a complete request, so that slow clients cannot delay probes.
func closeOldest() func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	var open []net.Conn           // oldest first
	active := map[net.Conn]bool{} // has those whose requests are being answered
	return func(conn net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			limitBuffers(conn)
			open = append(open, conn)
			if len(open) > adminConnections {
				i := slices.IndexFunc(open, func(c net.Conn) bool { return !active[c] }) // perhaps conn
				_ = open[i].Close()
				open = slices.Delete(open, i, i+1)
			}
		case http.StateActive:
			active[conn] = true
		case http.StateClosed:
			delete(active, conn)
			open = slices.DeleteFunc(open, func(c net.Conn) bool { return c == conn })
		}
	}
}
