//go:build deploy

package deploy

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestFlood makes one address take all that a proxy gives it: as many connections as
// limit-connections.sh allows, over HTTP/2 if the proxy speaks it, each with requests for
// a large page that it never reads. Clients at another address are served meanwhile.
func TestFlood(t *testing.T) {
	t.Parallel()
	for name, startProxy := range map[string]func(*testing.T, [2]string) string{"Caddy": startCaddy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replicas := [2]string{freeAddress(t), freeAddress(t)}
			serve(t, replicas[0], "--store", "memory:")
			url := startProxy(t, replicas)
			for range 100 {
				attack(t, strings.TrimPrefix(url, "https://"))
			}
			c := newClient()
			c.Timeout = 15 * time.Second
			c.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
				if status, text, err := send(c, http.MethodGet, url+path, ""); err != nil || status != http.StatusOK {
					t.Fatalf("another client: got %d %s (%v), want 200", status, text, err)
				}
			}
		})
	}
}

// attack opens a connection to the proxy with requests for a large page, and reads no
// response.
func attack(t *testing.T, address string) {
	t.Helper()
	const page, streams = "/docs/scalar.js", 240
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		_, _ = c.Write([]byte(strings.Repeat("GET "+page+" HTTP/1.1\r\nHost: localhost\r\n\r\n", streams))) // what it takes
		return
	}
	_, _ = fmt.Fprint(c, http2.ClientPreface)
	f := http2.NewFramer(c, nil)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	var block strings.Builder
	e := hpack.NewEncoder(&block)
	for i := range streams {
		block.Reset()
		for _, field := range [][2]string{{":method", http.MethodGet}, {":scheme", "https"}, {":authority", "localhost"}, {":path", page}} {
			_ = e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true})
	}
}
