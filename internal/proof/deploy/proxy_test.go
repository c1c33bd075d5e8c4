//go:build deploy

package deploy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// proxy starts a proxy before the replicas and returns the address that clients
// use.
type proxy func(t *testing.T, replicas [2]string) string

func proxies() map[string]proxy {
	return map[string]proxy{"Caddy": startCaddy, "nginx": startNginx}
}

// startCaddy runs deploy/proxy/Caddyfile as it is: the variables it has name the
// host, and localhost gets a certificate of Caddy's own.
func startCaddy(t *testing.T, replicas [2]string) string {
	t.Helper()
	dir := t.TempDir()
	_, port, _ := net.SplitHostPort(freeAddress(t))
	_, http, _ := net.SplitHostPort(freeAddress(t))
	_, admin, _ := net.SplitHostPort(freeAddress(t))
	// The ports and the certificate store of a machine belong to no test.
	config := replace(t, read(t, "deploy", "proxy", "Caddyfile"), `(?m)^\{$`, fmt.Sprintf("{\n\tadmin 127.0.0.1:%s\n\thttp_port %s\n\thttps_port %s\n\tskip_install_trust", admin, http, port))
	file := filepath.Join(dir, "Caddyfile")
	write(t, file, config)
	p := start(t, []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"PETSTORE_HOST=localhost", "PETSTORE_REPLICAS=" + replicas[0] + " " + replicas[1],
	}, "caddy", "run", "--config", file, "--adapter", "caddyfile")
	return p.serving(t, "https://localhost:"+port)
}

// startNginx runs deploy/proxy/nginx.conf with other ports and a certificate of
// the test.
func startNginx(t *testing.T, replicas [2]string) string { return startNginxWith(t, replicas, "") }

// startUnbufferedNginx has nginx pass bodies on as they come, chunked where the
// client's are.
func startUnbufferedNginx(t *testing.T, replicas [2]string) string {
	return startNginxWith(t, replicas, "\t\tproxy_request_buffering off;\n")
}

func startNginxWith(t *testing.T, replicas [2]string, setting string) string {
	t.Helper()
	dir := t.TempDir()
	_, port, _ := net.SplitHostPort(freeAddress(t))
	makeCertificate(t, dir)
	site := read(t, "deploy", "proxy", "nginx.conf")
	site = replace(t, site, `127\.0\.0\.1:8081`, replicas[0])
	site = replace(t, site, `127\.0\.0\.1:8082`, replicas[1])
	site = replace(t, site, `listen 443`, "listen 127.0.0.1:"+port)
	site = replace(t, site, `(?m)^\tlisten \[::\].*\n`, "")
	site = replace(t, site, `/etc/letsencrypt\S+fullchain\.pem`, dir+"/cert.pem")
	site = replace(t, site, `/etc/letsencrypt\S+privkey\.pem`, dir+"/key.pem")
	site = replace(t, site, `(?m)^\t\tproxy_http_version`, setting+"$0")
	write(t, dir+"/site.conf", site)
	write(t, dir+"/nginx.conf", fmt.Sprintf(`
daemon off; user root; worker_processes 2; pid %[1]s/pid; error_log stderr warn;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	include %[1]s/site.conf;
}`, dir))
	p := start(t, nil, "nginx", "-p", dir, "-c", dir+"/nginx.conf")
	return p.serving(t, "https://localhost:"+port)
}

// makeCertificate writes cert.pem and key.pem for localhost to dir.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	command(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-keyout", dir+"/key.pem", "-out", dir+"/cert.pem")
}

// serving waits until the proxy at url passes requests on, and returns url.
func (p *process) serving(t *testing.T, url string) string {
	t.Helper()
	c := client()
	defer c.CloseIdleConnections()
	p.eventually(t, "a proxy that serves", func() bool {
		status, _, err := send(t.Context(), c, http.MethodGet, url+"/livez", "")
		return err == nil && status == http.StatusOK
	})
	return url
}

// client speaks HTTP/2 where the proxy does, and compresses as a browser would.
func client() *http.Client {
	return &http.Client{Timeout: giveUp, Transport: &http.Transport{
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // the certificate is the test's
	}}
}

func TestARollingRestartBehindAProxyFailsNoRequest(t *testing.T) {
	t.Parallel()
	for name, startProxy := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := "sqlite:" + t.TempDir() + "/pets.db"
			addresses := [2]string{freeAddress(t), freeAddress(t)}
			serve := func(i int) *process { return replica(t, addresses[i], "--store", store, "--drain", "5s") }
			replicas := [2]*process{serve(0), serve(1)}
			url := startProxy(t, addresses)
			c := client()
			load := startLoad(t, url)
			for i := range replicas {
				load.more(t, 200)
				replicas[i].stop(t)
				load.more(t, 200)
				replicas[i] = serve(i)
				eventually(t, "the new replica having its part of the load", func() bool {
					return strings.Count(replicas[i].output(), `"path":"/v1/pets"`) > 100
				})
			}
			created := load.finish(t)
			status, body, err := send(t.Context(), c, http.MethodGet, fmt.Sprintf("%s/v1/pets?limit=1&after=%d", url, created), "")
			if err != nil || status != http.StatusOK || strings.TrimSpace(body) != "[]" {
				t.Errorf("animals after the %d that were acknowledged: got %d %s (%v), want none", created, status, body, err)
			}
		})
	}
}

// load is clients that send POST and GET, each once, and count the failures.
type load struct {
	stop          context.CancelFunc
	clients       sync.WaitGroup
	done, created atomic.Int64
	mu            sync.Mutex
	failures      []string
}

func startLoad(t *testing.T, url string) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop}
	for n := range 8 {
		l.clients.Go(func() {
			c := client() // each has a connection of its own
			for i := 0; ctx.Err() == nil; i++ {
				method, body, want := http.MethodGet, "", http.StatusOK
				if (n+i)%2 == 0 {
					method, body, want = http.MethodPost, `{"name":"Frank","categoryId":1}`, http.StatusCreated
				}
				// A request under way at the end is not given up: it may be stored.
				status, text, err := send(context.WithoutCancel(ctx), c, method, url+"/v1/pets", body)
				if err != nil || status != want {
					l.mu.Lock()
					l.failures = append(l.failures, fmt.Sprintf("%s: got %d %s (%v), want %d", method, status, text, err, want))
					l.mu.Unlock()
				} else if method == http.MethodPost {
					l.created.Add(1)
				}
				l.done.Add(1)
			}
		})
	}
	t.Cleanup(func() { stop(); l.clients.Wait() })
	return l
}

// more waits for n more requests.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	until := l.done.Load() + n
	eventually(t, "more requests", func() bool { return l.done.Load() >= until })
}

// finish ends the load and returns how many animals it created.
func (l *load) finish(t *testing.T) int64 {
	t.Helper()
	l.stop()
	l.clients.Wait()
	if len(l.failures) > 0 {
		t.Errorf("failed requests: got %d of %d, want none; the first: %s", len(l.failures), l.done.Load(), l.failures[0])
	}
	t.Logf("%d requests, %d animals created", l.done.Load(), l.created.Load())
	return l.created.Load()
}

// chunkedCreate sends an animal whose length no header says.
func chunkedCreate(ctx context.Context, c *http.Client, url string) error {
	body := io.MultiReader(strings.NewReader(`{"name":"Frank",`), strings.NewReader(`"categoryId":1}`))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/pets", body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+apiKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusCreated {
		return fmt.Errorf("got %d %s (%v), want 201", response.StatusCode, text, err)
	}
	return nil
}

// Each chunked create is the last of its connection to the replica.
func TestAThousandChunkedCreatesThroughAProxyAllSucceed(t *testing.T) {
	t.Parallel()
	for name, startProxy := range map[string]proxy{"Caddy": startCaddy, "nginx": startNginx, "nginx without request buffering": startUnbufferedNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			service := replica(t, address, "--store", "memory:")
			url := startProxy(t, [2]string{address, address})
			const clients, creates = 8, 125
			var running sync.WaitGroup
			for range clients {
				running.Go(func() {
					c := client()
					defer c.CloseIdleConnections()
					c.Transport.(*http.Transport).ForceAttemptHTTP2 = false // HTTP/2 has no chunks
					for i := range creates {
						if err := chunkedCreate(t.Context(), c, url); err != nil {
							t.Errorf("create %d: %v", i, err)
						}
					}
				})
			}
			running.Wait()
			status, body, err := send(t.Context(), client(), http.MethodGet, fmt.Sprintf("%s/v1/pets?after=%d", url, clients*creates-1), "")
			if err != nil || status != http.StatusOK || !strings.Contains(body, `"id":1000,`) || strings.Contains(body, `"id":1001,`) {
				t.Errorf("the last animals: got %d %s (%v), want the 1,000th alone\n%s", status, body, err, service.output())
			}
		})
	}
}

func TestAProxyCompressesLists(t *testing.T) {
	t.Parallel()
	for name, startProxy := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			replica(t, address, "--sandbox")
			url := startProxy(t, [2]string{address, address})
			c := client()
			c.Transport.(*http.Transport).DisableCompression = true // as the test asks itself
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/pets?limit=100", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+apiKey)
			request.Header.Set("Accept-Encoding", "gzip")
			response, err := c.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close() // only the header counts
			encoding, protocol := response.Header.Get("Content-Encoding"), response.Proto
			if encoding != "gzip" || protocol != "HTTP/2.0" {
				t.Errorf("a list through the proxy: got encoding %q by %s, want gzip by HTTP/2.0", encoding, protocol)
			}
		})
	}
}

func TestTheLogHasTheClientsAddressBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, startProxy := range proxies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			service := replica(t, address, "--sandbox", "--trusted-proxies", "127.0.0.1")
			url := startProxy(t, [2]string{address, address})
			c := client()
			from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 7)}}
			c.Transport.(*http.Transport).DialContext = from.DialContext
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/pets?limit=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+apiKey)
			request.Header.Set("X-Forwarded-For", "203.0.113.9") // the client's own, which nobody believes
			response, err := c.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close() // only the log counts
			service.eventually(t, "the line of the request", func() bool { return strings.Contains(service.output(), `"path":"/v1/pets"`) })
			if got := service.output(); !strings.Contains(got, `"remote":"127.0.0.7"`) {
				t.Errorf("the log: got %s, want the remote 127.0.0.7", got[max(0, len(got)-500):])
			}
		})
	}
}

func TestNginxLimitsTheRequestsUnderWayFromOneAddress(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	replica(t, address, "--sandbox")
	url := startNginx(t, [2]string{address, address})
	c := client()
	// Each of these has sent its header and half of its body. They are more than the
	// limit: while the probe that found nginx ready still counts, one of them is refused.
	for range 60 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprint(conn, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a request beyond the limit being refused", func() bool {
		status, body, err := send(t.Context(), c, http.MethodGet, url+"/livez", "")
		return err == nil && status == http.StatusTooManyRequests && strings.Contains(body, `"rate_limited"`)
	})
}

// inner is set in the process that has a network of its own.
const inner = "PETSTORE_DEPLOY_INNER"

func TestTheKernelLimitsConnectionsFromOneAddress(t *testing.T) {
	if os.Getenv(inner) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), "unshare", "--net", os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inner+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("in a network of its own: got %v, want success\n%s", err, out)
		}
		return
	}
	command(t, "ip", "link", "set", "lo", "up")
	command(t, "sh", root(t, "deploy", "proxy", "limit-connections.sh"))
	command(t, "sh", root(t, "deploy", "proxy", "limit-connections.sh")) // a second run changes nothing
	for _, loopback := range []string{"127.0.0.1:443", "[::1]:443"} {
		l, err := net.Listen("tcp", loopback)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		opened := 0
		for range 120 {
			conn, err := net.DialTimeout("tcp", loopback, giveUp)
			switch {
			case err == nil:
				opened++
				defer conn.Close()
			case !errors.Is(err, syscall.ECONNREFUSED):
				t.Fatalf("a connection to %s: got %v, want it open, or refused at once", loopback, err)
			}
		}
		if opened != 100 {
			t.Errorf("connections to %s: got %d of 120, want 100", loopback, opened)
		}
	}
}
