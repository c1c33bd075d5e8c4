package contract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/store/memory"
)

const (
	host    = "Host: petstore\r\n"
	auth    = "Authorization: Bearer " + program.Key + "\r\n"
	isJSON  = "Content-Type: application/json\r\n"
	expects = "Expect: 100-continue\r\n"
	chunked = "Transfer-Encoding: chunked\r\n"
	end     = "\r\n"
)

var (
	base = example.Base()
	list = base + "/pets"
	body = example.Body()
)

// ask returns a GET of target with the key.
func ask(target string, header ...string) string {
	return "GET " + target + " HTTP/1.1\r\n" + host + auth + strings.Join(header, "") + end
}

// add returns a POST with the key: its header, and then body as it is.
func add(body string, header ...string) string {
	return "POST " + list + " HTTP/1.1\r\n" + host + auth + isJSON + strings.Join(header, "") + end + body
}

// sized is add of a valid body with its length.
func sized(header ...string) string { return add(body, append(header, length(len(body)))...) }

func length(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }

func chunk(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }

// TestSocket sends bytes that HTTP clients do not send. The result of a case is a
// summary of everything the server answers: each status, followed by the code of
// an Error body, or by "bare" if net/http answered instead of the service; and
// then "open" or "close" for the connection.
func TestSocket(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	h, err := program.NewHandler(memory.New(), logger)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Options{
		Handler: h, Stopping: h.Stopping, Listener: l, MaxConnections: server.DefaultMaxConnections,
		Logger: logger, Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, addr := make(chan error, 1), l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- srv.Run(ctx) }()
	t.Run("cases", func(t *testing.T) {
		for _, c := range socketCases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				times := 1
				if c.half { // whether net/http notices depends on timing
					times = 20
				}
				for range times {
					if got := talk(t, addr, c.send, c.half); !regexp.MustCompile("^(" + c.want + ")$").MatchString(got) {
						t.Errorf("%.200q: got %q, want %s", c.send, got, c.want)
					}
				}
			})
		}
	})
	if got := talk(t, addr, ask(list), false); got != "200 open" {
		t.Errorf("a request after all: got %q, want 200 open", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "panic") || strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, program.Key) {
			t.Errorf("log: got %s, want no panic, error or key", line)
		}
	}
}

// sentinel is a request that follows the bytes of a case. If it is answered, the
// connection was still open.
const sentinel = "GET /sentinel HTTP/1.1\r\nHost: petstore\r\nX-Request-Id: sentinel\r\nConnection: close\r\n\r\n"

// talk sends bytes, and then the sentinel or, if half is set, the end of the client's side.
func talk(t *testing.T, addr, send string, half bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if !half {
		send += sentinel
	}
	_, _ = io.WriteString(conn, send) // the server may close before everything is written
	if half {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	var got []string
	for rest := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(rest, nil)
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			return strings.Join(append(got, "stalls"), " ")
		}
		if err != nil {
			return strings.Join(append(got, "close"), " ")
		}
		if resp.Header.Get("X-Request-Id") == "sentinel" {
			return strings.Join(append(got, "open"), " ")
		}
		got = append(got, fmt.Sprint(resp.StatusCode))
		body, err := io.ReadAll(resp.Body)
		var e struct{ Code string }
		switch {
		case err != nil:
			got = append(got, "broken")
		case resp.StatusCode >= 400 && resp.Header.Get("X-Request-Id") == "":
			got = append(got, "bare")
		case resp.StatusCode >= 400:
			if err := json.Unmarshal(body, &e); err != nil || e.Code == "" {
				t.Errorf("body: got %q, want an Error", body)
			}
			got = append(got, e.Code)
		}
	}
}

var socketCases = []struct {
	name, send, want string
	half             bool // the client closes its side after sending
}{
	// Request lines.
	{name: "bad percent-encoding", send: ask(list + "%zz"), want: "400 bare close"},
	{name: "OPTIONS of all", send: "OPTIONS * HTTP/1.1\r\n" + host + end, want: "(204|404 not_found) open"},

	// Headers.
	{name: "no Host", send: "GET /livez HTTP/1.1\r\n\r\n", want: "400 bare close"},
	{name: "a tab in Authorization", send: strings.Replace(ask(list), "Bearer ", "Bearer\t", 1), want: "401 unauthorized open"},

	// HTTP/1.0.
	{name: "HTTP/1.0, kept", send: "GET " + list + " HTTP/1.0\r\nConnection: keep-alive\r\n" + auth + end, want: "200 close"},
	{name: "HTTP/1.0, chunked, kept", send: "POST " + list + " HTTP/1.0\r\nConnection: keep-alive\r\n" + auth + isJSON + chunked + end + ask(list), want: "(201|400 [a-z_]+) close"},

	// Several requests.
	{name: "pipelined", send: ask(list+"?limit=0") + ask(list) + sized() + ask(base+"/nothing"), want: "400 invalid_parameter 200 201 404 not_found open"},
	{name: "pipelined after an unread body", send: strings.Replace(sized(), auth, "", 1) + ask(list), want: "401 unauthorized close"},

	// Lengths.
	{name: "two lengths", send: sized(length(1)), want: "400 bare close"},
	{name: "length and chunked", send: add(chunk(body)+"0\r\n\r\n", length(5), chunked), want: "201 close"},
	{name: "two codings", send: add(body, "Transfer-Encoding: gzip, chunked\r\n"), want: "501 bare close"},

	// Bodies.
	{name: "chunked", send: add(chunk("{")+chunk(body[1:])+"0\r\n\r\n", chunked), want: "201 close"},
	{name: "a chunk that is too long", send: add("5\r\nabcdefgh\r\n0\r\n\r\n", chunked), want: "400 invalid_body close"},
	{name: "a body that does not arrive", send: add("{", length(50000)), want: "408 request_timeout close"},
	{name: "a body for GET", send: ask(list, length(8)) + "not JSON", want: "200 close"},
	{name: "a body for a 404", send: "POST /nothing HTTP/1.1\r\n" + host + length(8) + end + "not JSON", want: "404 not_found close"},

	// Half-closed connections. A client that has sent a whole request is not gone.
	{name: "a half-closed GET", half: true, send: ask(list), want: "200 close"},
	{name: "a body that ends early", half: true, send: add(body, length(1000)), want: "400 invalid_body close"},

	// Bodies that are not read. The response does not wait for them.
	{name: "no key", send: strings.Replace(add("", length(50000)), auth, "", 1), want: "401 unauthorized close"},
	{name: "no key, expecting", send: strings.Replace(add("", length(30), expects), auth, "", 1), want: "401 unauthorized close"},
	{name: "another type", send: strings.Replace(add("", length(50000)), "application/json", "text/plain", 1), want: "415 unsupported_media_type close"},
	{name: "compressed", send: add("", length(50000), "Content-Encoding: gzip\r\n"), want: "415 unsupported_media_type close"},
	{name: "announced too long", send: add("", length(maxBody+1)), want: "413 payload_too_large close"},
	{name: "chunks past the limit", send: add(chunk(strings.Repeat(" ", maxBody+1)), chunked), want: "413 payload_too_large close"},
	{name: "expected and sent", send: sized(expects), want: "100 201 open"},
	{name: "another expectation", send: add("", length(30), "Expect: miracles\r\n"), want: "417 bare close"},
}
