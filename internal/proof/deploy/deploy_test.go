//go:build deploy

// Package deploy tests deploy/ with the programs that operators use. "make deploy-check" builds the service first.
package deploy

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
)

// Programs run in the top folder of the repository.
const (
	top      = "../../.."
	petstore = ".bin/petstore"
)

// TestPackage runs testdata/boot.sh, which builds the Debian package, boots systemd on an overlay of this
// system, and runs walk.sh there: the commands of the pages, from installation to removal.
func TestPackage(t *testing.T) {
	t.Parallel()
	odd := []string{example.Body(example.Integers("-9223372036854775808")...)}
	for _, name := range []string{
		strings.Repeat("many pages ", 9), "it's", `\`, "a\n\\.\n\\q\r\n\t\x01\x1b", "🐈 :x $1 %s", "",
		example.LongText(30_000), "removed",
	} {
		odd = append(odd, example.BodyNamed(name))
	}
	run(t, "sh", "-e", "internal/proof/deploy/testdata/boot.sh", t.TempDir(), example.BodyNamed("NAME"), strings.Join(odd, "\n"))
}

// TestFiles runs testdata/files.sh, which checks the files of deploy/ and builds packages.
func TestFiles(t *testing.T) {
	t.Parallel()
	run(t, "bash", "-e", "-x", "internal/proof/deploy/testdata/files.sh", t.TempDir())
}

// TestImage runs testdata/image.sh, which builds and runs the image.
func TestImage(t *testing.T) {
	t.Parallel()
	run(t, "bash", "-e", "-x", "internal/proof/deploy/testdata/image.sh", t.TempDir(), program.FreeAddress(t))
}

// TestContract tests the contract through nginx.
func TestContract(t *testing.T) {
	t.Parallel()
	store, replica := program.NewStore(t), socket(t)
	run(t, petstore, "migrate", "--store", store)
	reader := run(t, petstore, "keys", "create", "reader", "--read-only", "--store", store)
	other := run(t, petstore, "keys", "create", "other", "--store", store)
	proxy := startNginx(t, replica)
	url := "https://" + proxy.https + "/v1"
	program.Serve(t, replica, "--store", store, "--public-url", url)
	run(t, "env", "URL="+url, "SSL_CERT_FILE="+proxy.certificate, "KEY="+program.Key, "OTHER_KEY="+other, "READ_ONLY_KEY="+reader,
		"go", "test", "-count=1", "-run", "TestContract", "./internal/proof/contract")
}

// TestOwnErrors runs testdata/nginx.sh, which tests what nginx answers itself.
func TestOwnErrors(t *testing.T) {
	t.Parallel()
	replica := socket(t)
	program.Serve(t, replica, "--store", "memory:")
	proxy := startNginx(t, replica)
	run(t, "bash", "-e", "internal/proof/deploy/testdata/nginx.sh", proxy.https, proxy.http, proxy.log)
}

// TestRollingRestart restarts two replicas, one after the other, while eight clients create and
// list pets. No request may fail, and no acknowledged pet may be lost or duplicated.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	store := program.NewStore(t)
	replicas := []string{socket(t), socket(t)}
	url := "https://" + startNginx(t, replicas...).https
	var running []*program.Process
	for _, replica := range replicas {
		running = append(running, program.Serve(t, replica, "--store", store, "--log-level", "warn"))
	}
	var clients sync.WaitGroup
	var ended atomic.Bool
	var created atomic.Int64
	for i := range 8 {
		address := fmt.Sprintf("%s: 192.0.2.%d", clientAddress, i)
		clients.Go(func() {
			for c := newHTTPClient(); !ended.Load() && !t.Failed(); created.Add(1) {
				status, _, err := program.Send(t.Context(), c, "POST", url+example.ListPath(), example.Body(), address)
				listed, _, listErr := program.Send(t.Context(), c, "GET", url+example.ListPath(), "", address)
				assert.NoError(t, errors.Join(err, listErr))
				assert.Equal(t, http.StatusCreated, status, "create")
				assert.Equal(t, http.StatusOK, listed, "list")
			}
		})
	}
	defer clients.Wait() // also if the test ends early
	more := func() {
		n := created.Load() + 250
		dbtest.Eventually(t, "250 more pets", func() bool { return created.Load() >= n || t.Failed() })
	}
	for i, replica := range replicas {
		more()
		assert.NoError(t, running[i].Stop(), "after SIGTERM")
		more()
		program.Serve(t, replica, "--store", store, "--log-level", "warn")
	}
	more()
	ended.Store(true)
	clients.Wait()
	n := created.Load()
	lastTwo := fmt.Sprintf("%s%s?after=%d", url, example.ListPath(), n-2)
	_, text, err := program.Send(t.Context(), newHTTPClient(), "GET", lastTwo, "")
	require.NoError(t, err)
	var last []struct{ ID int64 }
	require.NoError(t, json.Unmarshal([]byte(text), &last), text)
	assert.Equal(t, []struct{ ID int64 }{{n - 1}, {n}}, last, "the last pets of those acknowledged")
}

// TestReplicaLost has a replica that dies before it answers. What may have written gets a
// 500, because the outcome is unknown, and nginx does not repeat it. The rest gets a 503.
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
		got, text, err := program.Send(t.Context(), newHTTPClient(), method, "https://"+proxy.https+example.ListPath(), "{}")
		assert.Equal(t, status, got, "%s: %s (%v)", method, text, err)
		assert.Contains(t, text, `"code":"`+code+`"`, method)
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		want(startNginx(t, addr, addr, socket(t)), method, http.StatusInternalServerError, "internal")
	}
	want(startNginx(t, addr, socket(t)), http.MethodGet, http.StatusServiceUnavailable, "unavailable")
	assert.EqualValues(t, 1, posts.Load(), "requests to POST")
	replica.Close()
	proxy := startNginx(t, addr, socket(t))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		want(proxy, method, http.StatusServiceUnavailable, "unavailable")
	}
}

// TestClientLimit sends requests over HTTP/2, each from another address of one IPv6 network of 64 bits, and
// resets them once the service has them. They count as one client's, which may have 50. Another is served.
func TestClientLimit(t *testing.T) {
	t.Parallel()
	resets := make(chan context.CancelFunc, 1)
	replica := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case reset := <-resets:
			reset()
			<-r.Context().Done() // until nginx ends
		default:
		}
	}))
	t.Cleanup(replica.Close)
	proxy, c := startNginx(t, replica.Listener.Addr().String()), newHTTPClient()
	want := func(ctx context.Context, address string, status int) {
		got, _, err := program.Send(ctx, c, http.MethodGet, "https://"+proxy.https+example.ListPath(), "", clientAddress+": "+address)
		require.Equal(t, status, got, "%s: error %v", address, err)
	}
	for i := range 50 {
		ctx, reset := context.WithCancel(t.Context())
		resets <- reset
		want(ctx, fmt.Sprintf("2001:db8::%x", i), 0)
		require.Error(t, ctx.Err(), "the replica got %d requests, want 50", i)
	}
	want(t.Context(), "2001:db8::ffff:1", http.StatusTooManyRequests)
	want(t.Context(), "2001:db8:0:1::1", http.StatusOK)
}

// run runs a program and returns its standard output.
func run(t *testing.T, name string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stderr = top, t.Output()
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", cmd, out)
	return strings.TrimSpace(string(out))
}

// proxy has the addresses of an nginx, and the files of its certificate and its log.
type proxy struct{ https, http, certificate, log string }

// clientAddress is the header in which a test sends the address of the client to nginx.
const clientAddress = "X-Client-Address"

// socket returns an address where nothing listens.
func socket(t *testing.T) string { return "unix:" + t.TempDir() + "/http.sock" }

// startNginx runs deploy/proxy/nginx.conf for localhost, in one process, which ends with the test.
func startNginx(t *testing.T, replicas ...string) proxy {
	dir := t.TempDir()
	p := proxy{program.FreeAddress(t), program.FreeAddress(t), dir + "/cert.pem", dir + "/access.log"}
	run(t, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", dir+"/key.pem", "-out", p.certificate)
	site := example.Must(os.ReadFile(top + "/deploy/proxy/nginx.conf"))
	local := strings.NewReplacer(
		"unix:/run/petstore/http.sock", strings.Join(replicas, " fail_timeout=2s; server "),
		"/var/log/nginx/petstore.log", p.log,
		"/var/log/nginx/error.log", dir+"/error.log",
		"\tlisten [::]:443 ssl http2;\n", "",
		"\tlisten [::]:80;\n", "",
		"listen 80", "listen "+p.http,
		"listen 443", "listen "+p.https,
		"/etc/letsencrypt/live/pets.example.com/fullchain.pem", p.certificate,
		"/etc/letsencrypt/live/pets.example.com/privkey.pem", dir+"/key.pem",
	)
	conf := fmt.Sprintf(`
daemon off; master_process off; user root; pid %[1]s/pid; error_log stderr warn;
events {}
http {
	set_real_ip_from 127.0.0.1; real_ip_header %[2]s;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	%[3]s
}`, dir, clientAddress, local.Replace(string(site)))
	require.NoError(t, os.WriteFile(dir+"/nginx.conf", []byte(conf), 0o644))
	program.Start(t, exec.Command("nginx", "-p", dir, "-c", dir+"/nginx.conf"), p.https)
	return p
}

// newHTTPClient returns a client with connections of its own.
func newHTTPClient() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the test's own certificates
	}}
}
