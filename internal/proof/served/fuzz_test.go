package served_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// fuzzSeeds are requests that went wrong somewhere once, or might.
var fuzzSeeds = []string{
	"GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets?limit=5&status=sold&after=1 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets?limit=%zz;x HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets?limit=&limit=1&%6cimit=2 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets/%31 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets/1%2F2 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/%70ets/1%2f2 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /v1/pets/%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET //v1//pets/../ HTTP/1.1\r\nHost: x\r\n\r\n",
	"HEAD /v1/pets/9 HTTP/1.0\r\n\r\n",
	"POST /v1/pets HTTP/0.0\r\nContent-Length: 1\r\n\r\n0",
	"OPTIONS /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n",
	"FOO http://y/v1/pets/1 HTTP/1.1\r\nHost: x\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	"CONNECT y:1 HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /openapi.yaml HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n",
	"GET /readyz HTTP/1.1\r\nHost: x\r\nX-Request-Id: psk_1\r\n\r\n",
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n" + frank + "\n",
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n" + frank + "\n\r\n0\r\n\r\n",
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n{",
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 62\r\n\r\n" + `{"name":"\ud800","categoryId":1e400,"status":null,"name":"\u0000"}`,
	"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 46\r\n\r\n" + `{"NAME":"a","name":"b","categoryId":7.0,"x":[]}`,
}

// FuzzHTTP gives the handler whatever net/http can read as a request, once
// without a key and once with one.
func FuzzHTTP(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	judge := contracttest.NewJudge(f)
	handler := newHandler(f, memory.New(), io.Discard)
	f.Fuzz(func(t *testing.T, data []byte, authorized bool) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil || r.ProtoMajor < 1 || r.Header.Get("Expect") != "" {
			return // which net/http refuses by itself
		}
		if authorized {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		r.RemoteAddr = "192.0.2.1:1"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)

		response, body := w.Result(), w.Body.Bytes()
		if r.Method == http.MethodHead {
			body = nil // which net/http does not send
		}
		if err := judge.Check(r, response, body); err != nil {
			t.Errorf("%q got %d %s\n%v", data, response.StatusCode, body, err)
		}
		if response.StatusCode >= 500 {
			t.Errorf("%q got %d %s, want nothing above 499", data, response.StatusCode, body)
		}
		if !authorized && response.StatusCode < 300 && r.Method != http.MethodOptions &&
			strings.HasPrefix(r.URL.Path, "/v1") && r.Header.Get("Authorization") == "" {
			t.Errorf("%q got %d without a key", data, response.StatusCode)
		}
	})
}

func TestASeedThatIsNoRequestWouldTestNothing(t *testing.T) {
	for _, seed := range fuzzSeeds {
		if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(seed))); err != nil {
			t.Errorf("seed %q: got %v, want a request", seed, err)
		}
	}
}
