package server

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// connected opens a connection and waits for a response on it.
type connected struct {
	name string
	open func() bool
}

func connect(t *testing.T, s *Server, name, path string) connected {
	t.Helper()
	conn, rest := dial(t, s)
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(rest, nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %v (%v), want 200", name, resp, err)
	}
	// The server knows of the end of a response a little later than its client.
	for end := time.Now().Add(patience); s.ConnectionStats().Active > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: got it active, want it idle by now", name)
		}
	}
	return connected{name, func() bool { return isOpen(conn, rest) }}
}

func TestAConnectionThatGaveWayIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	c := newConnections(1)
	ours, client := net.Pipe()
	defer client.Close()
	gone := c.add(&conn{Conn: ours})
	if !c.evict() {
		t.Fatal("got no connection that gives way, want the idle one")
	}
	for _, state := range []http.ConnState{http.StateActive, http.StateIdle, http.StateClosed} {
		c.observe(gone, state) // net/http may not know yet
		if got := c.stats(); got.Active != 0 || got.Idle != 0 {
			t.Errorf("%v after it gave way: got %d active and %d idle, want none", state, got.Active, got.Idle)
		}
	}
}

func TestAtTheLimitTheLongestIdleConnectionWithoutAKeyGivesWay(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/key" {
			Trust(r.Context())
		}
		w.Header().Set("Content-Length", "0")
	}), func(c *Config) { c.MaxConnections = 4 })

	trusted := connect(t, s, "with a key, idle longest", "/key")
	silent, silentRest := dial(t, s) // it never sends a request
	first := connect(t, s, "the first without a key", "/")
	second := connect(t, s, "the second without a key", "/")

	third := connect(t, s, "a new one", "/")
	if !ended(silentRest) {
		t.Error("the one that was silent longest: got it open, want it closed")
	}
	_ = silent.Close()
	fourth := connect(t, s, "another new one", "/")
	if first.open() {
		t.Errorf("%s: got it open, want it closed", first.name)
	}
	for _, c := range []connected{trusted, second, third, fourth} {
		if !c.open() {
			t.Errorf("%s: got it closed, want it open", c.name)
		}
	}
	if got := s.ConnectionStats(); got.Evicted != 2 || got.Limit != 4 || got.Active+got.Idle != 4 {
		t.Errorf("ConnectionStats: got %+v, want 4 connections of 4, 2 evicted", got)
	}
}

func TestAtTheLimitNoRequestWithAKeyIsCut(t *testing.T) {
	t.Parallel()
	release, begun := make(chan struct{}), make(chan string, 3)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/key" {
			Trust(r.Context())
		}
		begun <- r.URL.Path
		<-release
		w.Header().Set("Content-Length", "0")
	}), func(c *Config) { c.MaxConnections = 2 })

	begin := func(path string) (response func() (*http.Response, error)) {
		conn, rest := dial(t, s)
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return func() (*http.Response, error) { return http.ReadResponse(rest, nil) }
	}
	busy := begin("/key")
	<-begun
	slow := begin("/")
	<-begun
	next := begin("/key") // it takes the place of the one without a key
	<-begun
	last := begin("/") // it waits until there is room
	close(release)
	if _, err := slow(); err == nil {
		t.Error("a request without a key at the limit: got a response, want its place taken")
	}
	for name, response := range map[string]func() (*http.Response, error){"busy": busy, "next": next, "last": last} {
		if resp, err := response(); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %v (%v), want 200", name, resp, err)
		}
	}
}

func TestTheLimitOfConnectionsStaysBelowTheFilesOfTheProcess(t *testing.T) {
	t.Parallel()
	for files, want := range map[int]int{64: 32, 256: 64, 1024: 256, 20000: 256} {
		if got := reservedFiles(files); got != want {
			t.Errorf("of %d files: got %d reserved, want %d", files, got, want)
		}
	}
	if err := CheckMaxConnections(DefaultMaxConnections()); err != nil {
		t.Errorf("the default: got %v, want it possible", err)
	}
	for _, n := range []int{0, -1, 1 << 40} {
		if err := CheckMaxConnections(n); err == nil {
			t.Errorf("%d connections: got no error, want one", n)
		}
	}
}
