package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	hidden  = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	chunked = "5\r\n[1,2]\r\n0\r\n\r\n"
)

func TestARequestThatMayBeTakenForAnotherIsTheLastOfItsConnection(t *testing.T) {
	t.Parallel()
	s := start(t, respond)
	for name, c := range map[string]struct {
		request string
		closed  bool
	}{
		"both lengths":                   {fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(hidden)+5, hidden), true},
		"both, the other way round":      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\ncontent-LENGTH:5\r\n\r\n0\r\n\r\n" + hidden, true},
		"both, lines ending in LF":       {"POST / HTTP/1.1\nHost: x\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n" + hidden, true},
		"HTTP/1.0, chunked":              {"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n[]" + hidden, true},
		"HTTP/1.0, chunked, no length":   {"GET / HTTP/1.0\r\nConnection: keep-alive\r\ntransfer-encoding:chunked\r\n\r\n" + hidden, true},
		"chunked":                        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, true},
		"chunked, the next has a length": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + hidden, true},
		"a length":                       {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]", false},
		"a length, the next is chunked":  {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, false},
		"HTTP/1.0":                       {"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n[]", true},
		"a folded field":                 {"POST / HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, true},
	} {
		conn, rest := dial(t, s)
		if _, err := io.WriteString(conn, c.request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(rest, nil)
		if err != nil {
			t.Errorf("%s: got %v, want a response", name, err)
			continue
		}
		if resp.StatusCode != http.StatusOK || resp.Close != c.closed {
			t.Errorf("%s: got %d, close %t, want 200, close %t", name, resp.StatusCode, resp.Close, c.closed)
		}
		if c.closed && !ended(rest) {
			t.Errorf("%s: got another response, want the end of the connection", name)
		}
	}
}

// drawnRequest is a request whose framing is drawn.
type drawnRequest struct {
	text string
	last bool // of its connection
}

func drawRequest(t *rapid.T) drawnRequest {
	body := rapid.SampledFrom([]string{"[]", "{\"a\":\n1}", "\n\n[]\r\n\r\n", "[\"" + strings.Repeat("x", 9000) + "\"]"}).Draw(t, "body")
	length := fmt.Sprintf("Content-Length: %d", len(body))
	const coding = "Transfer-Encoding: chunked"
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	fill := "X-Fill: " + strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 4000, 4096, 9000}).Draw(t, "fill"))
	header := func(line string, fields ...string) string {
		fields = rapid.Permutation(append(fields, "Host: x", fill)).Draw(t, "fields")
		return line + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return drawnRequest{header("GET / HTTP/1.1"), false}
	case 1:
		return drawnRequest{header("POST / HTTP/1.1", length) + body, false}
	case 2:
		return drawnRequest{header("POST / HTTP/1.1", coding) + chunks, true}
	case 3:
		return drawnRequest{header("POST / HTTP/1.0", "Connection: keep-alive", length) + body, true}
	case 4:
		return drawnRequest{header("POST / HTTP/1.1", length, coding) + chunks, true}
	default:
		return drawnRequest{header("POST / HTTP/1.0", "Connection: keep-alive", length, coding) + body, true}
	}
}

func TestFramingIsJudgedAlikeHoweverRequestsArrive(t *testing.T) {
	t.Parallel()
	s := start(t, respond)
	rapid.Check(t, func(rt *rapid.T) {
		requests := rapid.SliceOfN(rapid.Custom(drawRequest), 1, 6).Draw(rt, "requests")
		var stream strings.Builder
		for _, r := range requests {
			stream.WriteString(r.text)
		}
		size := rapid.SampledFrom([]int{1 << 20, 5000, 4096, 100, 7}).Draw(rt, "bytes a write")
		conn, rest := dial(t, s)
		defer conn.Close()
		go func() {
			for text := stream.String(); text != ""; {
				n := min(size, len(text))
				if _, err := io.WriteString(conn, text[:n]); err != nil {
					return // the server has ended the connection
				}
				text = text[n:]
			}
		}()
		for i, r := range requests {
			resp, err := http.ReadResponse(rest, nil)
			if err != nil {
				rt.Fatalf("response %d: got %v, want 200", i, err)
			}
			if resp.StatusCode != http.StatusOK || resp.Close != r.last {
				rt.Fatalf("response %d: got %d, close %t, want 200, close %t", i, resp.StatusCode, resp.Close, r.last)
			}
			if r.last {
				if !ended(rest) {
					rt.Fatalf("after response %d: got more, want the end of the connection", i)
				}
				return
			}
		}
	})
}
