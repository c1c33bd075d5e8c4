//go:build deploy

package deploy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestRollingRestart restarts two replicas behind each proxy, one after the
// other, under load. No request may fail, except that nginx may leave it to the
// client to retry a POST. No acknowledged pet may be lost or duplicated.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	for name, startProxy := range map[string]func(*testing.T, [2]string) string{"Caddy": startCaddy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := "sqlite:" + t.TempDir() + "/petstore.db"
			replicas := [2]string{freeAddress(t), freeAddress(t)}
			var stops [2]func()
			for i, replica := range replicas {
				stops[i], _ = serve(t, replica, "--store", store)
			}
			url := startProxy(t, replicas)
			created := underLoad(t, url, func(more func()) {
				for i, stop := range stops {
					more()
					stop()
					more()
					serve(t, replicas[i], "--store", store)
				}
				more()
			})
			if status, body, err := send(newClient(), http.MethodGet, fmt.Sprintf("%s/v1/pets?after=%d", url, created-1), ""); err != nil || status != http.StatusOK || strings.Count(body, `"id"`) != 1 {
				t.Errorf("pets from the last of %d acknowledged: got %d %s (%v), want one", created, status, body, err)
			}
		})
	}
}

// TestReplicaLost kills the only replica behind each proxy after it has committed
// a pet and before it has answered. The outcome is then unknown to the client,
// which must not be told that nothing was done.
func TestReplicaLost(t *testing.T) {
	t.Parallel()
	const pet = `{"name":"Frank","categoryId":1}`
	for name, startProxy := range map[string]func(*testing.T, [2]string) string{"Caddy": startCaddy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := "sqlite:" + t.TempDir() + "/petstore.db"
			replica, relay := freeAddress(t), freeAddress(t)
			_, kill := serve(t, replica, "--store", store)
			lose, stopRelay := relayTo(t, relay, replica, kill)
			url := startProxy(t, [2]string{relay, freeAddress(t)}) + "/v1/pets"
			c := newClient()
			if status, _, err := sendOnce(c, http.MethodDelete, url, "", ""); err != nil || status != http.StatusInternalServerError {
				t.Errorf("DELETE whose response is lost: got %d (%v), want 500", status, err)
			}
			eventually(t, "a replica", func() bool { // nginx asks no replica for 2 s after a failure
				status, _, err := sendOnce(c, http.MethodGet, url, "", "")
				return err == nil && status == http.StatusOK
			})
			if status, text, err := sendOnce(c, http.MethodPost, url, pet, "one"); err != nil || status != http.StatusCreated {
				t.Fatalf("POST to the replica: got %d %s (%v), want 201", status, text, err)
			}
			lose.Store(true)
			status, text, err := sendOnce(c, http.MethodPost, url, pet, "two")
			if err != nil || status != http.StatusInternalServerError || !strings.Contains(text, `"code":"internal"`) {
				t.Errorf("POST whose replica dies after the commit: got %d %s (%v), want 500 internal", status, text, err)
			}
			stopRelay()
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				status, text, err = sendOnce(c, method, url, pet, "three")
				if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(text, `"code":"unavailable"`) {
					t.Errorf("%s without a replica: got %d %s (%v), want 503 unavailable", method, status, text, err)
				}
			}
			serve(t, replica, "--store", store)
			if _, text, err := sendOnce(c, http.MethodGet, "http://"+replica+"/v1/pets", "", ""); strings.Count(text, `"id"`) != 2 {
				t.Errorf("pets in the store: got %s (%v), want both", text, err)
			}
		})
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

// startCaddy runs deploy/proxy/Caddyfile for localhost.
func startCaddy(t *testing.T, replicas [2]string) string {
	t.Helper()
	dir, https := t.TempDir(), freeAddress(t)
	_, httpPort, _ := net.SplitHostPort(freeAddress(t))
	_, httpsPort, _ := net.SplitHostPort(https)
	write(t, dir+"/Caddyfile", replace(t, read(t, "deploy", "proxy", "Caddyfile"),
		"\n{\n", fmt.Sprintf("\n{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n\tskip_install_trust\n", httpPort, httpsPort)))
	start(t, []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"PETSTORE_HOST=localhost", "PETSTORE_REPLICAS=" + replicas[0] + " " + replicas[1],
	}, "caddy", "run", "--config", dir+"/Caddyfile", "--adapter", "caddyfile")
	waitFor(t, "https://localhost:"+httpsPort+"/livez")
	return "https://localhost:" + httpsPort
}

func startNginx(t *testing.T, replicas [2]string) string {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	writeNginx(t, dir, address, replicas)
	start(t, nil, "nginx", "-p", dir, "-c", dir+"/nginx.conf")
	waitFor(t, "https://"+address+"/livez")
	return "https://" + address
}

// writeNginx writes to dir an nginx.conf that includes deploy/proxy/nginx.conf.
func writeNginx(t *testing.T, dir, address string, replicas [2]string) {
	t.Helper()
	makeCertificate(t, dir)
	write(t, dir+"/site.conf", replace(t, read(t, "deploy", "proxy", "nginx.conf"),
		"127.0.0.1:8081", replicas[0], "127.0.0.1:8082", replicas[1],
		"\tlisten [::]:443 ssl http2;\n", "", "\tlisten [::]:80;\n", "", "listen 80", "listen "+freeAddress(t), "listen 443", "listen "+address,
		"/etc/letsencrypt/live/pets.example.com/fullchain.pem", dir+"/cert.pem",
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
}

// makeCertificate writes cert.pem and key.pem for localhost to dir.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	run(t, nil, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-keyout", dir+"/key.pem", "-out", dir+"/cert.pem")
}
