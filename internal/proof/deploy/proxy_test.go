//go:build deploy

package deploy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/proof/program"
)

// TestContract tests the contract through nginx.
func TestContract(t *testing.T) {
	t.Parallel()
	store, replica := "sqlite:"+t.TempDir()+"/petstore.db", program.FreeAddress(t)
	reader := run(t, petstore, "keys", "create", "reader", "--read-only", "--store", store)
	other := run(t, petstore, "keys", "create", "other", "--store", store)
	proxy := startNginx(t, replica)
	url := "https://" + proxy.https + "/v1"
	serve(t, replica, "--store", store, "--public-url", url)
	run(t, "env", "URL="+url, "SSL_CERT_FILE="+proxy.certificate, "KEY="+program.Key, "OTHER_KEY="+other, "READ_ONLY_KEY="+reader,
		"go", "test", "-count=1", "-run", "TestContract", "./internal/proof/contract")
}

// TestOwnErrors tests requests that nginx answers itself, beside those of the contract.
func TestOwnErrors(t *testing.T) {
	t.Parallel()
	replica := program.FreeAddress(t)
	serve(t, replica, "--store", "memory:")
	proxy := startNginx(t, replica)
	long := strings.Repeat("x", 20_000)
	for _, c := range []struct {
		addr, request string
		status        int
		header, value string // a header of the response, and a part of its value
	}{
		{proxy.https, "CONNECT /v1/pets", 405, "Allow", "POST"},
		{proxy.https, "CONNECT example.com:443", 400, "", ""},
		{proxy.https, "GET /../etc/passwd", 400, "", ""},
		{proxy.https, "GET /v1/pets?" + long, 431, "", ""},
		{proxy.https, "GET /v1/pets HTTP/1.1\r\nX: " + long, 431, "", ""},
		{proxy.https, "GET /v1/pets HTTP/1.1\r\na b: c", 400, "", ""},
		{proxy.https, "POST /v1/pets HTTP/1.1\r\nContent-Length: 2000000", 413, "", ""},
		{proxy.https, "GET /_nginx/400", 404, "", ""},
		{proxy.http, "GET /v1/pets", 400, "", ""},
		{proxy.http, "POST /v1/pets?a=b HTTP/1.1\r\nContent-Length: 2000000", 400, "", ""},
		{proxy.http, "GET /_nginx/http", 400, "", ""},
		{proxy.http, "GET /", 308, "Location", "https://localhost/"},
		{proxy.http, "GET /docs", 308, "Location", "https://localhost/docs"},
	} {
		t.Run(fmt.Sprintf("%.40s", c.request), func(t *testing.T) {
			conn, err := net.Dial("tcp", c.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if c.addr == proxy.https {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			line, more, _ := strings.Cut(c.request, " HTTP/1.1")
			_, _ = io.WriteString(conn, line+" HTTP/1.1\r\nHost: localhost"+more+"\r\n\r\n")
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.StatusCode != c.status || !strings.Contains(got.Header.Get(c.header), c.value) {
				t.Errorf("got %d %v, want %d and %q in %s", got.StatusCode, got.Header, c.status, c.value, c.header)
			}
			var e client.Error
			_ = json.NewDecoder(got.Body).Decode(&e) // a redirect has none
			if c.status >= 400 && (e.Code == "" || e.Message == "" || e.Status != c.status) {
				t.Errorf("got the body %+v, want an Error", e)
			}
			if c.addr == proxy.http {
				if c.status == 400 && !strings.Contains(e.Message, "https") {
					t.Errorf("got the message %s, want one that says https", e.Message)
				}
			} else if got.Header.Get("Strict-Transport-Security") == "" || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("got %v, want Strict-Transport-Security and X-Request-Id", got.Header)
			}
		})
	}
}

// TestRollingRestart restarts two replicas, one after the other, under load. No request
// may fail, except that nginx may leave it to the client to retry a POST. No
// acknowledged pet may be lost or duplicated.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + t.TempDir() + "/petstore.db"
	replicas := []string{program.FreeAddress(t), program.FreeAddress(t)}
	var steps []func()
	for _, replica := range replicas {
		stop := serve(t, replica, "--store", store)
		steps = append(steps, stop, func() { serve(t, replica, "--store", store) })
	}
	url := "https://" + startNginx(t, replicas...).https
	created := underLoad(t, url, steps...)
	last := []int64{}
	for pet, err := range client.All(t.Context(), newClient(t, url), &client.ListPetsParams{After: new(created - 2)}) {
		if err != nil {
			t.Fatal(err)
		}
		last = append(last, pet.ID)
	}
	if want := []int64{created - 1, created}; !slices.Equal(last, want) {
		t.Errorf("the last pets of %d acknowledged: got %v, want %v", created, last, want)
	}
}

// TestReplicaLost has a replica that dies before it answers. The outcome is then unknown
// to the client, which must not be told that nothing was done. nginx must not repeat a
// POST.
func TestReplicaLost(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	replica := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		panic(http.ErrAbortHandler) // closes the connection
	}))
	defer replica.Close()
	addr := replica.Listener.Addr().String()
	want := func(proxy proxy, method string, status int, code string) {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), method, "https://"+proxy.https+"/v1/pets", strings.NewReader("{}"))
		response, err := newHTTPClient().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var e client.Error
		if err := json.NewDecoder(response.Body).Decode(&e); response.StatusCode != status || e.Code != code {
			t.Errorf("%s: got %d %s (%v), want %d %s", method, response.StatusCode, e.Code, err, status, code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		want(startNginx(t, addr, addr, program.FreeAddress(t)), method, http.StatusInternalServerError, "internal")
	}
	want(startNginx(t, addr, program.FreeAddress(t)), http.MethodGet, http.StatusServiceUnavailable, "unavailable")
	if got := posts.Load(); got != 1 {
		t.Errorf("the replica got %d requests to POST, want one", got)
	}
	replica.Close()
	proxy := startNginx(t, addr, program.FreeAddress(t))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		want(proxy, method, http.StatusServiceUnavailable, "unavailable")
	}
}

// TestFlood opens 20 connections from one address over HTTP/2, each with 100 requests
// for a large page whose responses are not read. Clients at another address are served
// meanwhile.
func TestFlood(t *testing.T) {
	t.Parallel()
	replica := program.FreeAddress(t)
	serve(t, replica, "--store", "memory:")
	proxy := startNginx(t, replica)
	var unanswered atomic.Int32
	for range 20 {
		flood := newHTTPClient()
		transport := flood.Transport.(*http.Transport)
		transport.MaxConnsPerHost, transport.HTTP2 = 1, &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		for range 100 {
			unanswered.Add(1)
			go func() {
				request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+proxy.https+"/docs/scalar.js", http.NoBody)
				_, _ = flood.Do(request) // the context ends it
				unanswered.Add(-1)
			}()
		}
	}
	c := newHTTPClient()
	c.Timeout = 15 * time.Second
	c.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
	another := newClient(t, "https://"+proxy.https, client.WithHTTPClient(c))
	for unanswered.Load() > 0 {
		if err := list(t, another); err != nil {
			t.Fatalf("another client: %v", err)
		}
	}
}

// proxy has the addresses of an nginx, and the file of its certificate.
type proxy struct{ https, http, certificate string }

// startNginx runs deploy/proxy/nginx.conf for localhost.
func startNginx(t *testing.T, replicas ...string) proxy {
	t.Helper()
	dir := t.TempDir()
	p := proxy{program.FreeAddress(t), program.FreeAddress(t), dir + "/cert.pem"}
	run(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", dir+"/key.pem", "-out", p.certificate)
	site, err := os.ReadFile(top + "/deploy/proxy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]string{
		{"127.0.0.1:8080", strings.Join(replicas, " fail_timeout=2s; server ")},
		{"\tlisten [::]:443 ssl http2;\n", ""},
		{"\tlisten [::]:80;\n", ""},
		{"listen 80", "listen " + p.http},
		{"listen 443", "listen " + p.https},
		{"/etc/letsencrypt/live/pets.example.com/fullchain.pem", p.certificate},
		{"/etc/letsencrypt/live/pets.example.com/privkey.pem", dir + "/key.pem"},
	} {
		if !bytes.Contains(site, []byte(r[0])) {
			t.Fatalf("nginx.conf: got no %q, which the test replaces", r[0])
		}
		site = bytes.ReplaceAll(site, []byte(r[0]), []byte(r[1]))
	}
	write(t, dir+"/site.conf", string(site))
	write(t, dir+"/nginx.conf", fmt.Sprintf(`
daemon off; user root; pid %[1]s/pid; error_log stderr warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	include %[1]s/site.conf;
}`, dir))
	start(t, "nginx", "-p", dir, "-c", dir+"/nginx.conf")
	program.WaitFor(t, p.https)
	return p
}
