//go:build deploy

package deploy

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestContract tests the contract through nginx.
func TestContract(t *testing.T) {
	t.Parallel()
	store, replica := "sqlite:"+t.TempDir()+"/petstore.db", freeAddress(t)
	reader := run(t, nil, petstore(t), "keys", "create", "reader", "--read-only", "--store", store)
	other := run(t, nil, petstore(t), "keys", "create", "other", "--store", store)
	proxy := startNginx(t, replica)
	url := "https://" + proxy.https + strings.TrimSuffix(path, "/pets")
	serve(t, replica, "--store", store, "--public-url", url)
	env := []string{
		"URL=" + url, "SSL_CERT_FILE=" + proxy.certificate,
		"KEY=" + apiKey, "OTHER_KEY=" + other, "READ_ONLY_KEY=" + reader,
	}
	run(t, env, "go", "test", "-count=1", "-run", "TestContract", "./internal/proof/contract")
}

// TestOwnErrors tests requests that nginx answers itself, beside those of the contract.
func TestOwnErrors(t *testing.T) {
	t.Parallel()
	replica := freeAddress(t)
	serve(t, replica, "--store", "memory:")
	proxy := startNginx(t, replica)
	long := strings.Repeat("x", 20_000)
	for _, c := range []struct {
		address, request string
		status           int
		header, value    string // a header of the response, and a part of its value
	}{
		{proxy.https, "CONNECT " + path, 405, "Allow", "POST"},
		{proxy.https, "CONNECT example.com:443", 400, "", ""},
		{proxy.https, "GET /../etc/passwd", 400, "", ""},
		{proxy.https, "GET " + path + "?" + long, 431, "", ""},
		{proxy.https, "GET " + path + " HTTP/1.1\r\nX: " + long, 431, "", ""},
		{proxy.https, "GET " + path + " HTTP/1.1\r\na b: c", 400, "", ""},
		{proxy.https, "POST " + path + " HTTP/1.1\r\nContent-Length: 2000000", 413, "", ""},
		{proxy.https, "GET /_nginx/400", 404, "", ""},
		{proxy.http, "GET " + path, 400, "", ""},
		{proxy.http, "POST " + path + "?a=b HTTP/1.1\r\nContent-Length: 2000000", 400, "", ""},
		{proxy.http, "GET /_nginx/http", 400, "", ""},
		{proxy.http, "GET /", 308, "Location", "https://localhost/"},
		{proxy.http, "GET /docs", 308, "Location", "https://localhost/docs"},
	} {
		t.Run(fmt.Sprintf("%.40s", c.request), func(t *testing.T) {
			line, more, _ := strings.Cut(c.request, " HTTP/1.1")
			got, body := exchange(t, c.address, c.address == proxy.https, line+" HTTP/1.1\r\nHost: localhost"+more+"\r\n\r\n")
			if got.StatusCode != c.status || !strings.Contains(got.Header.Get(c.header), c.value) {
				t.Errorf("got %d %v, want %d and %q in %s", got.StatusCode, got.Header, c.status, c.value, c.header)
			}
			var e struct {
				Code, Message string
				Status        int
			}
			if err := json.Unmarshal(body, &e); c.status >= 400 && (err != nil || e.Code == "" || e.Message == "" || e.Status != c.status) {
				t.Errorf("got the body %s (%v), want an Error", body, err)
			}
			if c.address == proxy.http {
				if c.status == 400 && !strings.Contains(e.Message, "https") {
					t.Errorf("got the message %s, want one that says https", e.Message)
				}
			} else if got.Header.Get("Strict-Transport-Security") == "" || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("got %v, want Strict-Transport-Security and X-Request-Id", got.Header)
			}
		})
	}
}

// exchange sends a request on a connection of its own and returns the response.
func exchange(t *testing.T, address string, https bool, request string) (*http.Response, []byte) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if https {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	_, _ = io.WriteString(c, request)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, body
}

// TestRollingRestart restarts two replicas, one after the other, under load. No request
// may fail, except that nginx may leave it to the client to retry a POST. No
// acknowledged pet may be lost or duplicated.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + t.TempDir() + "/petstore.db"
	replicas := []string{freeAddress(t), freeAddress(t)}
	var stops [2]func()
	for i, replica := range replicas {
		stops[i], _ = serve(t, replica, "--store", store)
	}
	url := "https://" + startNginx(t, replicas...).https
	created := underLoad(t, url, func(more func()) {
		for i, stop := range stops {
			more()
			stop()
			more()
			serve(t, replicas[i], "--store", store)
		}
		more()
	})
	status, body, err := send(newClient(), http.MethodGet, fmt.Sprintf("%s%s?after=%d", url, path, created-1), "", "")
	if err != nil || status != http.StatusOK || strings.Count(body, `"id"`) != 1 {
		t.Errorf("pets from the last of %d acknowledged: got %d %s (%v), want one", created, status, body, err)
	}
}

// TestReplicaLost kills the only replica after it has committed a pet and before it has
// answered. The outcome is then unknown to the client, which must not be told that
// nothing was done.
func TestReplicaLost(t *testing.T) {
	t.Parallel()
	const pet = `{"name":"Frank","categoryId":1}`
	store := "sqlite:" + t.TempDir() + "/petstore.db"
	replica, relay := freeAddress(t), freeAddress(t)
	_, kill := serve(t, replica, "--store", store)
	lose, stopRelay := relayTo(t, relay, replica, kill)
	url := "https://" + startNginx(t, relay, freeAddress(t)).https + path
	c := newClient()
	if status, _, err := send(c, http.MethodDelete, url, "", ""); err != nil || status != http.StatusInternalServerError {
		t.Errorf("DELETE whose response is lost: got %d (%v), want 500", status, err)
	}
	eventually(t, "a replica", func() bool { // nginx asks no replica for 2 s after a failure
		status, _, err := send(c, http.MethodGet, url, "", "")
		return err == nil && status == http.StatusOK
	})
	if status, text, err := send(c, http.MethodPost, url, pet, "one"); err != nil || status != http.StatusCreated {
		t.Fatalf("POST to the replica: got %d %s (%v), want 201", status, text, err)
	}
	lose.Store(true)
	status, text, err := send(c, http.MethodPost, url, pet, "two")
	if err != nil || status != http.StatusInternalServerError || !strings.Contains(text, `"code":"internal"`) {
		t.Errorf("POST whose replica dies after the commit: got %d %s (%v), want 500 internal", status, text, err)
	}
	stopRelay()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		status, text, err = send(c, method, url, pet, "three")
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(text, `"code":"unavailable"`) {
			t.Errorf("%s without a replica: got %d %s (%v), want 503 unavailable", method, status, text, err)
		}
	}
	serve(t, replica, "--store", store)
	if _, text, err := send(c, http.MethodGet, "http://"+replica+path, "", ""); strings.Count(text, `"id"`) != 2 {
		t.Errorf("pets in the store: got %s (%v), want both", text, err)
	}
}

// TestFlood opens 20 connections from one address over HTTP/2, each with 100 requests
// for a large page whose responses are not read. Clients at another address are served
// meanwhile.
func TestFlood(t *testing.T) {
	t.Parallel()
	replica := freeAddress(t)
	serve(t, replica, "--store", "memory:")
	proxy := startNginx(t, replica)
	var answers sync.WaitGroup
	for range 20 {
		flood := newClient()
		transport := flood.Transport.(*http.Transport)
		transport.MaxConnsPerHost, transport.HTTP2 = 1, &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		for range 100 {
			answers.Go(func() {
				request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+proxy.https+"/docs/scalar.js", http.NoBody)
				_, _ = flood.Do(request) // the context ends it
			})
		}
	}
	answered := make(chan struct{})
	go func() { answers.Wait(); close(answered) }()
	c := newClient()
	c.Timeout = 15 * time.Second
	c.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
	for flooding := true; flooding; {
		select {
		case <-answered:
			flooding = false
		default:
		}
		if status, text, err := send(c, http.MethodGet, "https://"+proxy.https+path, "", ""); err != nil || status != http.StatusOK {
			t.Fatalf("another client: got %d %s (%v), want 200", status, text, err)
		}
	}
}

// relayTo passes connections at address on to the replica, but loses the responses to a
// DELETE. Once lose is set, it calls kill instead of passing on the response to a POST.
// Without the replica, it closes each connection that has a request; stop refuses them.
func relayTo(t *testing.T, address, replica string, kill func()) (lose *atomic.Bool, stop func()) {
	t.Helper()
	lose = new(atomic.Bool)
	to := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: replica}) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodDelete {
				panic(http.ErrAbortHandler)
			}
			if lose.Load() && r.Request.Method == http.MethodPost {
				kill()
				panic(http.ErrAbortHandler) // closes the connection
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: to, ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return lose, func() { _ = server.Close() }
}

// proxy has the addresses of an nginx, and the file of its certificate.
type proxy struct{ https, http, certificate string }

// startNginx runs deploy/proxy/nginx.conf for localhost.
func startNginx(t *testing.T, replicas ...string) proxy {
	t.Helper()
	dir := t.TempDir()
	p := writeNginx(t, dir, replicas...)
	start(t, nil, "nginx", "-p", dir, "-c", dir+"/nginx.conf")
	eventually(t, "nginx", func() bool {
		c, err := net.Dial("tcp", p.https)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return p
}

// writeNginx writes to dir an nginx.conf that includes deploy/proxy/nginx.conf.
func writeNginx(t *testing.T, dir string, replicas ...string) proxy {
	t.Helper()
	p := proxy{freeAddress(t), freeAddress(t), dir + "/cert.pem"}
	run(t, nil, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", dir+"/key.pem", "-out", p.certificate)
	write(t, dir+"/site.conf", replace(t, read(t, "deploy", "proxy", "nginx.conf"),
		"127.0.0.1:8080", strings.Join(replicas, " fail_timeout=2s; server "),
		"\tlisten [::]:443 ssl http2;\n", "", "\tlisten [::]:80;\n", "", "listen 80", "listen "+p.http, "listen 443", "listen "+p.https,
		"/etc/letsencrypt/live/pets.example.com/fullchain.pem", p.certificate,
		"/etc/letsencrypt/live/pets.example.com/privkey.pem", dir+"/key.pem"))
	write(t, dir+"/nginx.conf", fmt.Sprintf(`
daemon off; user root; pid %[1]s/pid; error_log stderr warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	include %[1]s/site.conf;
}`, dir))
	return p
}
