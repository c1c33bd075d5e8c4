package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/contract/contracttest"
)

// dial opens a connection that the end of the test closes.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(giveUp)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchangeRaw writes the bytes and returns the status of the first response.
func exchangeRaw(t *testing.T, address, request string) *http.Response {
	t.Helper()
	conn := dial(t, address)
	// A request that does not fit may be refused before all of it is written.
	go func() { _, _ = io.WriteString(conn, request) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no response to %.60q: %v", request, err)
	}
	return response
}

func TestHeadersOf30KiBAreAcceptedAndFarLargerOnesAreRefused(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	address := strings.TrimPrefix(server.base, "http://")
	head := "GET /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + processKey + "\r\n"
	many := strings.Repeat("X-Header: "+strings.Repeat("x", 1012)+"\r\n", 30)
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"one of 30 KiB":     {head + "X-Header: " + strings.Repeat("x", 30<<10) + "\r\n\r\n", 200},
		"30 of 1 KiB":       {head + many + "\r\n", 200},
		"one of 64 KiB":     {head + "X-Header: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431},
		"1 MiB of them":     {head + strings.Repeat(many, 34) + "\r\n", 431},
		"a path of 30 KiB":  {"GET /" + strings.Repeat("x", 30<<10) + " HTTP/1.1\r\nHost: petstore\r\n\r\n", 404},
		"a path of 64 KiB":  {"GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: petstore\r\n\r\n", 431},
		"a query of 30 KiB": {strings.Replace(head, "pets ", "pets?x="+strings.Repeat("x", 30<<10)+" ", 1) + "\r\n", 200},
	} {
		if got := exchangeRaw(t, address, c.request).StatusCode; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestOPTIONSOfTheWholeServerIsAnsweredLikeEverythingElse(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	response := exchangeRaw(t, strings.TrimPrefix(server.base, "http://"), "OPTIONS * HTTP/1.1\r\nHost: petstore\r\n\r\n")
	if response.StatusCode != http.StatusNoContent || response.Header.Get("Allow") == "" || response.Header.Get("X-Request-Id") == "" {
		t.Errorf("OPTIONS *: got %d %v, want 204 with Allow and a request id", response.StatusCode, response.Header)
	}
}

func TestAHeaderThatNeverEndsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	conn := dial(t, strings.TrimPrefix(server.base, "http://"))
	if _, err := io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost: pet"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil {
		t.Errorf("a header without end: got %q (%v), want the end of the connection", got, err)
	}
}

func TestABodyThatNeverComesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	_, rest := server.halfSent(t, `{"name":"Frank","categoryId":1}`)
	response, err := http.ReadResponse(rest, nil)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusBadRequest || !response.Close {
		t.Errorf("a body that never comes: got %s %s (%v), want 400 and the end of the connection", response.Status, body, err)
	}
}
