package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
)

var (
	codingField = regexp.MustCompile(`(?im)^transfer-encoding:`)
	headerEnd   = regexp.MustCompile(`\r?\n\r?\n`)
)

// mayBeTakenForAnother reads the first request of data by itself, and reports
// whether its connection must end with it (RFC 9112, section 6.1).
func mayBeTakenForAnother(data []byte) bool {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
	end := headerEnd.FindIndex(data)
	if err != nil || end == nil {
		return false
	}
	return codingField.Match(data[:end[0]]) || !r.ProtoAtLeast(1, 1)
}

// FuzzConnection sends bytes to a connection. Whatever they are, a request that
// may be taken for another is the last one served, and the connection ends.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		hidden + hidden,
		fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(hidden)+5, hidden),
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n[]" + hidden,
		"POST / HTTP/1.1\nHost: x\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n" + hidden,
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + hidden,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello", "\r\n\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	var served atomic.Int64
	s := start(f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		respond.ServeHTTP(w, r)
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := served.Load()
		conn, rest := dial(t, s)
		defer conn.Close()
		go func() {
			_, _ = conn.Write(data) // the server may end the connection first
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		if _, err := io.Copy(io.Discard, rest); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("%q: got %v, want the end of the connection", data, err)
		}
		if n := served.Load() - before; mayBeTakenForAnother(data) && n > 1 {
			t.Errorf("%q: got %d requests served, want the first alone", data, n)
		}
	})
}
