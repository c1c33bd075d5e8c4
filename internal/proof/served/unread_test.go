package served_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Bodies that come late, in part, or are not read at all.

func TestAResponseDoesNotWaitForABodyThatNobodyReads(t *testing.T) {
	s := start(t)
	for name, c := range map[string]struct {
		header []string
		body   string // less than what is announced
		want   int
	}{
		"no key":                        {[]string{isJSON, "Content-Length: 50000"}, "", 401},
		"no key, chunked":               {[]string{isJSON, "Transfer-Encoding: chunked"}, "", 401},
		"a wrong key":                   {[]string{isJSON, "Content-Length: 50000", withKey + "x"}, "", 401},
		"a wrong media type":            {[]string{withKey, "Content-Type: text/plain", "Content-Length: 50000"}, "", 415},
		"a content coding":              {[]string{withKey, isJSON, "Content-Encoding: gzip", "Content-Length: 50000"}, "", 415},
		"announced too long":            {[]string{withKey, isJSON, "Content-Length: 65537"}, "", 413},
		"announced far too long":        {[]string{withKey, isJSON, "Content-Length: 9223372036854775807"}, "", 413},
		"chunks past the limit, no end": {[]string{withKey, isJSON, "Transfer-Encoding: chunked"}, fmt.Sprintf("%x\r\n%s\r\n", 65537, padded(65537)), 413},
		"an unknown path":               {[]string{withKey, "Content-Length: 50000"}, "", 405},
	} {
		t.Run(name, func(t *testing.T) {
			method := "POST"
			if c.want == 405 {
				method = "PUT"
			}
			resp := s.send(t, method, petsPath, c.body, c.header...)
			resp.wants(t, c.want, "", "")
			resp.wantsClosed(t)
		})
	}
}

func TestAConnectionWhoseBodyWasReadIsKept(t *testing.T) {
	s := start(t)
	s.post(t, frank).wantsOpen(t)
	s.post(t, "{").wantsOpen(t)
	s.post(t, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(frank), frank), "Transfer-Encoding: chunked").wantsOpen(t)
	s.get(t, petsPath).wantsOpen(t)
	s.send(t, "GET", petsPath, "").wantsOpen(t)
	s.send(t, "POST", petsPath, "", withKey).wantsOpen(t)
}

func TestAClientThatAsksFirstIsToldToGoOnOnlyWhereItsBodyIsWanted(t *testing.T) {
	s := start(t)
	const expect = "Expect: 100-continue"
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"no key":             {[]string{isJSON, "Content-Length: 30"}, 401},
		"wrong type":         {[]string{withKey, "Content-Type: text/plain", "Content-Length: 30"}, 415},
		"too long":           {[]string{withKey, isJSON, "Content-Length: 65537"}, 413},
		"an odd expectation": {[]string{withKey, isJSON, "Content-Length: 30", "Expect: miracles"}, 417},
		"unknown path":       {[]string{withKey, isJSON, "Content-Length: 30"}, 405},
	} {
		t.Run(name, func(t *testing.T) {
			method := "POST"
			if c.want == 405 {
				method = "PATCH"
			}
			header := c.header
			if c.want != 417 {
				header = append(header, expect)
			}
			resp := s.send(t, method, petsPath, "", header...)
			resp.wants(t, c.want, "", "")
			resp.wantsClosed(t)
		})
	}
	t.Run("all is well", func(t *testing.T) {
		conn := s.dial(t)
		head := fmt.Sprintf("POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n%s\r\n%s\r\n%s\r\nContent-Length: %d\r\n\r\n", withKey, isJSON, expect, len(frank))
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		rest := bufio.NewReader(conn)
		line, err := rest.ReadString('\n')
		if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("first line: got %q (%v), want 100 Continue", line, err)
		}
		if _, err := rest.Discard(len("\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, frank); err != nil {
			t.Fatal(err)
		}
		resp := s.receive(t, conn, rest, head+frank)
		resp.wants(t, 201, "", "")
		resp.wantsOpen(t)
	})
}

func TestABodyThatDoesNotArriveWholeIsTheClientsFault(t *testing.T) {
	s := start(t)
	conn := s.dial(t)
	request := "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n" + withKey + "\r\n" + isJSON + "\r\nContent-Length: 1000\r\n\r\n" + frank
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp := s.receive(t, conn, bufio.NewReader(conn), request)
	resp.wants(t, 400, "invalid_body", "the body did not arrive whole")
	for _, broken := range []string{"xyz\r\n", "-1\r\n", "5\r\nabcdefgh\r\n0\r\n\r\n"} {
		resp := s.post(t, broken, "Transfer-Encoding: chunked")
		resp.wants(t, 400, "invalid_body", "the body did not arrive whole")
		resp.wantsClosed(t)
	}
}

func TestABodyThatComesTooSlowlyIsNotWaitedFor(t *testing.T) {
	s := start(t)
	served := &http.Server{Handler: newHandler(t, s.store, s.log), ReadTimeout: 100 * time.Millisecond}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- served.Serve(l) }()
	t.Cleanup(func() { _ = served.Close(); <-done })

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	request := "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n" + withKey + "\r\n" + isJSON + "\r\nContent-Length: 1000\r\n\r\n{"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp := s.receive(t, conn, bufio.NewReader(conn), request)
	resp.wants(t, 400, "invalid_body", "the body did not arrive whole")
	resp.wantsClosed(t)
}

func TestABodyOfAnOperationThatTakesNoneIsIgnored(t *testing.T) {
	s := start(t)
	resp := s.send(t, "GET", petsPath, "not json", withKey)
	resp.wants(t, 200, "", "")
	resp.wantsClosed(t)
}

func TestAnUnreadBodyThatStallsDoesNotHoldItsConnection(t *testing.T) {
	s := start(t)
	resp := s.send(t, "POST", petsPath, "", isJSON, "Content-Length: 50000")
	resp.wants(t, 401, "unauthorized", "")
	if _, err := resp.rest.ReadByte(); err != io.EOF {
		t.Errorf("the connection, its client silent: got %v, want its end", err)
	}
}
