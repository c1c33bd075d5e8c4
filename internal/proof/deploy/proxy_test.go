//go:build deploy

package deploy

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestRollingRestart restarts two replicas behind each proxy, one after the
// other under load. No request may fail and nothing acknowledged be lost.
func TestRollingRestart(t *testing.T) {
	for name, startProxy := range map[string]func(*testing.T, [2]string) string{"Caddy": startCaddy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := "sqlite:" + t.TempDir() + "/petstore.db"
			addresses := [2]string{freeAddress(t), freeAddress(t)}
			replicas := [2]*process{serve(t, addresses[0], "--store", store), serve(t, addresses[1], "--store", store)}
			url := startProxy(t, addresses)
			l := startLoad(t, url)
			for i := range replicas {
				l.more(t, 200)
				replicas[i].stop(t)
				l.more(t, 200)
				replicas[i] = serve(t, addresses[i], "--store", store)
				eventually(t, "requests to the new replica", func() bool {
					return strings.Count(replicas[i].output(), `"path":"/v1/pets"`) > 100
				})
			}
			created := l.finish(t)
			if status, body, err := send(newClient(), http.MethodGet, fmt.Sprintf("%s/v1/pets?after=%d", url, created-1), ""); err != nil || status != http.StatusOK || strings.Count(body, `"id"`) != 1 {
				t.Errorf("pets from the last of %d acknowledged: got %d %s (%v), want one", created, status, body, err)
			}
		})
	}
}

// startCaddy runs deploy/proxy/Caddyfile for localhost, with ports and a folder
// of the test.
func startCaddy(t *testing.T, replicas [2]string) string {
	t.Helper()
	dir := t.TempDir()
	port := func() string { _, port, _ := net.SplitHostPort(freeAddress(t)); return port }
	https := port()
	settings := fmt.Sprintf("\n{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n\tskip_install_trust\n", port(), https)
	write(t, dir+"/Caddyfile", replace(t, read(t, "deploy", "proxy", "Caddyfile"), "\n{\n", settings))
	start(t, []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"PETSTORE_HOST=localhost", "PETSTORE_REPLICAS=" + replicas[0] + " " + replicas[1],
	}, "caddy", "run", "--config", dir+"/Caddyfile", "--adapter", "caddyfile")
	waitFor(t, "https://localhost:"+https+"/livez")
	return "https://localhost:" + https
}

// startNginx runs deploy/proxy/nginx.conf.
func startNginx(t *testing.T, replicas [2]string) string {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	siteForNginx(t, dir, address, replicas)
	start(t, nil, "nginx", "-p", dir, "-c", dir+"/nginx.conf")
	waitFor(t, "https://"+address+"/livez")
	return "https://" + address
}

// siteForNginx writes nginx.conf to dir, a server with deploy/proxy/nginx.conf.
func siteForNginx(t *testing.T, dir, address string, replicas [2]string) {
	t.Helper()
	makeCertificate(t, dir)
	site := read(t, "deploy", "proxy", "nginx.conf")
	for old, by := range map[string]string{
		"127.0.0.1:8081": replicas[0], "127.0.0.1:8082": replicas[1],
		"\tlisten [::]:443 ssl http2;\n": "", "listen 443": "listen " + address,
		"/etc/letsencrypt/live/pets.example.com/fullchain.pem": dir + "/cert.pem",
		"/etc/letsencrypt/live/pets.example.com/privkey.pem":   dir + "/key.pem",
	} {
		site = replace(t, site, old, by)
	}
	write(t, dir+"/site.conf", site)
	write(t, dir+"/nginx.conf", fmt.Sprintf(`
daemon off; user root; pid %[1]s/pid; error_log stderr warn;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	include %[1]s/site.conf;
}`, dir))
}

// makeCertificate writes cert.pem and key.pem for localhost to dir.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	run(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-keyout", dir+"/key.pem", "-out", dir+"/cert.pem")
}

// load is eight clients that create and list, each request once.
type load struct {
	clients       sync.WaitGroup
	ended         atomic.Bool
	done, created atomic.Int64
	failures      sync.Map // of texts
}

func startLoad(t *testing.T, url string) *load {
	t.Helper()
	l := &load{}
	for n := range 8 {
		l.clients.Go(func() {
			c := newClient() // with a connection of its own
			defer c.CloseIdleConnections()
			for i := n; !l.ended.Load(); i++ {
				method, body, want := http.MethodGet, "", http.StatusOK
				if i%2 == 0 {
					method, body, want = http.MethodPost, `{"name":"Frank","categoryId":1}`, http.StatusCreated
				}
				if status, text, err := send(c, method, url+"/v1/pets", body); err != nil || status != want {
					l.failures.Store(fmt.Sprintf("%s: got %d %s (%v), want %d", method, status, text, err, want), true)
				} else if method == http.MethodPost {
					l.created.Add(1)
				}
				l.done.Add(1)
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// more waits for n more requests.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	until := l.done.Load() + n
	eventually(t, "more requests", func() bool { return l.done.Load() >= until })
}

// finish ends the load and returns how many pets it created.
func (l *load) finish(t *testing.T) int64 {
	t.Helper()
	l.ended.Store(true)
	l.clients.Wait()
	l.failures.Range(func(text, _ any) bool {
		t.Errorf("of %d requests: %s", l.done.Load(), text)
		return true
	})
	return l.created.Load()
}
