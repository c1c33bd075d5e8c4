package contract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/engine/contract"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/memory"
)

const (
	auth    = "Authorization: Bearer " + program.Key
	isJSON  = "Content-Type: application/json"
	chunked = "Transfer-Encoding: chunked"
)

var (
	list = example.ListPath()
	body = example.Body()

	ask   = message("GET "+list, auth)
	whole = add(length(len(body))) + body
)

// message returns the request line and the header of a request.
func message(line string, header ...string) string {
	return line + " HTTP/1.1\r\nHost: petstore\r\n" + strings.Join(append(header, "", ""), "\r\n")
}

// add returns a POST with the key, without its body.
func add(header ...string) string {
	return message("POST "+list, append([]string{auth, isJSON}, header...)...)
}

func length(n int) string { return fmt.Sprintf("Content-Length: %d", n) }

func chunk(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }

// cut returns a request without a line of its header.
func cut(request, line string) string { return strings.Replace(request, line+"\r\n", "", 1) }

// TestSocket sends bytes that HTTP clients do not send. The result of a case is a summary of everything
// the server answers: each status, followed by the code of an Error body; and then "open" or "close" for the
// connection.
func TestSocket(t *testing.T) {
	t.Parallel()
	addr := strings.TrimPrefix(serve(t, memory.New()), "http://")
	for _, c := range socketCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			times := 1
			if c.half { // whether net/http notices depends on timing
				times = 20
			}
			for range times {
				assert.Equal(t, c.want, talk(addr, c.send, c.half), "%.200q", c.send)
			}
		})
	}
}

// sentinel is a request that follows the bytes of a case. If it is answered, the
// connection was still open.
const sentinel = "GET /sentinel HTTP/1.1\r\nHost: petstore\r\nX-Request-Id: sentinel\r\nConnection: close\r\n\r\n"

// talk sends bytes, and then the sentinel or, if half is set, the end of the client's side.
func talk(addr, send string, half bool) (got string) {
	conn := example.Must(net.Dial("tcp", addr))
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if half {
		_, _ = io.WriteString(conn, send)
		_ = conn.(*net.TCPConn).CloseWrite()
	} else {
		_, _ = io.WriteString(conn, send+sentinel) // the server may close before everything is written
	}
	for rest := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(rest, nil)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return got + "stalls"
		case err != nil:
			return got + "close"
		case resp.Header.Get("X-Request-Id") == "sentinel":
			return got + "open"
		}
		got += fmt.Sprint(resp.StatusCode, " ")
		body, _ := io.ReadAll(resp.Body)
		if e, _ := contract.Decode(string(body)).(map[string]any); resp.StatusCode >= 400 {
			got += fmt.Sprint(e["code"], " ")
		}
	}
}

var socketCases = []struct {
	name, send, want string
	half             bool // the client closes its side after sending
}{
	// Headers and methods.
	{name: "OPTIONS of all", send: message("OPTIONS *"), want: "404 not_found open"},
	{name: "a tab in Authorization", send: strings.Replace(ask, "Bearer ", "Bearer\t", 1), want: "401 unauthorized open"},
	{
		name: "HTTP/1.0, chunked, kept", want: "400 invalid_body close",
		send: strings.Replace(add("Connection: keep-alive", chunked), "HTTP/1.1", "HTTP/1.0", 1) + ask,
	},

	// Several requests.
	{
		name: "pipelined", want: "400 invalid_parameter 200 201 404 not_found open",
		send: message("GET "+list+"?limit=0", auth) + ask + whole + message("GET /nothing", auth),
	},
	{name: "pipelined after an unread body", send: cut(whole, auth) + ask, want: "401 unauthorized close"},

	// Bodies.
	{name: "length and chunked", send: add(length(5), chunked) + chunk(body) + chunk(""), want: "201 close"},
	{name: "a chunk that is too long", send: add(chunked) + "5\r\nabcdefgh\r\n" + chunk(""), want: "400 invalid_body close"},
	{name: "chunks past the limit", send: add(chunked) + chunk(strings.Repeat(" ", service.MaxBody+1)), want: "413 payload_too_large close"},
	{name: "a body that does not arrive", send: add(length(50000)) + "{", want: "408 request_timeout close"},
	{name: "a body for GET", send: message("GET "+list, auth, length(8)) + "not JSON", want: "200 close"},
	{name: "a body for a 404", send: message("POST /nothing", length(8)) + "not JSON", want: "404 not_found close"},
	{name: "expected and sent", send: add("Expect: 100-continue", length(len(body))) + body, want: "100 201 open"},

	// Half-closed connections. A client that has sent a whole request is not gone.
	{name: "a half-closed GET", half: true, send: ask, want: "200 close"},
	{name: "a body that ends early", half: true, send: add(length(1000)) + body, want: "400 invalid_body close"},

	// Bodies that are not read. The response does not wait for them.
	{name: "no key, expecting", send: cut(add(length(30), "Expect: 100-continue"), auth), want: "401 unauthorized close"},
	{name: "another type", send: cut(add(length(50000)), isJSON), want: "415 unsupported_media_type close"},
	{name: "announced too long", send: add(length(service.MaxBody + 1)), want: "413 payload_too_large close"},
}
