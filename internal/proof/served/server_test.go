package served_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/petstoretest"
)

// The tests of this package write requests byte by byte, since most of what
// they send no HTTP client would. Every response passes the contract's judge.

const (
	key      = "an-api-key-for-the-tests"
	withKey  = "Authorization: Bearer " + key
	isJSON   = "Content-Type: application/json"
	petsPath = "/v1/pets"
	frank    = `{"name":"Frank","categoryId":1}`
)

// patience is how long a test waits for what must come; it is never reached
// unless something hangs.
const patience = 20 * time.Second

// server is the whole service in this process.
type server struct {
	*httptest.Server
	judge *contracttest.Judge
	store *memory.Store
	log   *logBuffer
}

// start serves an empty store in memory. change may spoil its configuration.
func start(t testing.TB, change ...func(*petstoretest.Config)) *server {
	t.Helper()
	s := &server{judge: contracttest.NewJudge(t), store: memory.New(), log: &logBuffer{}}
	handler := newHandler(t, s.store, s.log, change...)
	s.Server = httptest.NewUnstartedServer(handler)
	s.Config.DisableGeneralOptionsHandler = true // as serve has it
	s.Config.ErrorLog = slog.NewLogLogger(slog.NewJSONHandler(s.log, nil), slog.LevelWarn)
	s.Start()
	t.Cleanup(func() {
		s.Close()
		s.log.wantNoKey(t)
	})
	return s
}

// newHandler returns the service on a store, opened by the fixed key and by
// those of the store.
func newHandler(t testing.TB, store pets.Store, log io.Writer, change ...func(*petstoretest.Config)) http.Handler {
	t.Helper()
	logger := slog.New(logging.NewHandler(log, logging.Options{Level: slog.LevelDebug, Secrets: []string{key}, KeyPattern: web.KeyPattern}))
	return petstoretest.Must(t, store, key, append([]func(*petstoretest.Config){func(c *petstoretest.Config) { c.Logger = logger }}, change...)...)
}

// response is one that came back, its body read.
type response struct {
	*http.Response
	body []byte
	conn net.Conn
	rest *bufio.Reader
}

// send writes one request with its own connection: the header lines as given,
// and a Content-Length where there is a body and no line says otherwise.
func (s *server) send(t testing.TB, method, target, body string, header ...string) response {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: petstore\r\n", method, target)
	lines := strings.ToLower(strings.Join(header, "\n"))
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	if body != "" && !strings.Contains(lines, "content-length") && !strings.Contains(lines, "transfer-encoding") {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return s.sendRaw(t, b.String())
}

// sendRaw writes the bytes as they are and returns the first response.
func (s *server) sendRaw(t testing.TB, request string) response {
	t.Helper()
	conn := s.dial(t)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatalf("writing %.60q: %v", request, err)
	}
	return s.receive(t, conn, bufio.NewReader(conn), request)
}

// dial opens a connection that the end of the test closes.
func (s *server) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// receive reads the response to request and has it judged, unless the request is
// none that net/http would have passed on.
func (s *server) receive(t testing.TB, conn net.Conn, rest *bufio.Reader, request string) response {
	t.Helper()
	asked, parseErr := http.ReadRequest(bufio.NewReader(strings.NewReader(request)))
	got, err := http.ReadResponse(rest, asked)
	if err != nil {
		t.Fatalf("no response to %.60q: %v", request, err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("the response to %.60q breaks off: %v", request, err)
	}
	if parseErr == nil && got.Header.Get("X-Request-Id") != "" {
		if err := s.judge.Check(asked, got, body); err != nil {
			t.Errorf("%.80q got %d %s\n%v", request, got.StatusCode, body, err)
		}
	}
	return response{Response: got, body: body, conn: conn, rest: rest}
}

func (s *server) get(t testing.TB, target string, header ...string) response {
	t.Helper()
	return s.send(t, "GET", target, "", append(header, withKey)...)
}

// post sends body to createPet as JSON.
func (s *server) post(t testing.TB, body string, header ...string) response {
	t.Helper()
	return s.send(t, "POST", petsPath, body, append(header, withKey, isJSON)...)
}

// wants checks the status and, for an error, its code and a part of its message.
func (resp response) wants(t testing.TB, status int, code, message string) {
	t.Helper()
	if resp.StatusCode != status {
		t.Errorf("status: got %d %s, want %d", resp.StatusCode, resp.body, status)
		return
	}
	if code == "" {
		return
	}
	var e struct{ Code, Message string }
	if err := json.Unmarshal(resp.body, &e); err != nil {
		t.Errorf("body: got %q, want an Error", resp.body)
		return
	}
	if e.Code != code || !strings.Contains(e.Message, message) {
		t.Errorf("error: got %s, %q, want %s with %q", e.Code, e.Message, code, message)
	}
}

// wantsClosed checks that the server ends the connection after the response. It
// ends its own side first: net/http would wait for the rest of a body until
// its ReadTimeout, although it has responded.
func (resp response) wantsClosed(t testing.TB) {
	t.Helper()
	if !resp.Close {
		t.Errorf("Connection: got %q, want close", resp.Header.Get("Connection"))
	}
	if err := resp.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_, err := resp.rest.ReadByte()
	if timeout, ok := errors.AsType[net.Error](err); err == nil || ok && timeout.Timeout() {
		t.Errorf("connection after the response: got %v, want its end", err)
	}
}

// wantsOpen checks that the connection serves another request.
func (resp response) wantsOpen(t testing.TB) {
	t.Helper()
	if resp.Close {
		t.Error("Connection: got close, want it kept")
	}
	if _, err := io.WriteString(resp.conn, "GET /livez HTTP/1.1\r\nHost: petstore\r\n\r\n"); err != nil {
		t.Errorf("a second request on the connection: %v", err)
		return
	}
	if next, err := http.ReadResponse(resp.rest, nil); err != nil || next.StatusCode != http.StatusOK {
		t.Errorf("a second request on the connection: got %v (%v), want 200", next, err)
	}
}

// pet decodes the Pet of the body.
func (resp response) pet(t testing.TB) (p struct {
	ID, CategoryID int64
	Name, Status   string
},
) {
	t.Helper()
	if err := json.Unmarshal(resp.body, &p); err != nil {
		t.Fatalf("body: got %q, want a Pet (%v)", resp.body, err)
	}
	return p
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// wantLines waits until there are n lines and returns them: the line of a
// request is written after its response.
func (l *logBuffer) wantLines(t testing.TB, n int) []map[string]any {
	t.Helper()
	var text string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if text = l.String(); strings.Count(text, "\n") >= n {
			break
		}
	}
	var lines []map[string]any
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		lines = append(lines, fields)
	}
	if len(lines) != n {
		t.Fatalf("log: got %d lines, want %d:\n%s", len(lines), n, text)
	}
	return lines
}

var tokenPattern = regexp.MustCompile(`psk_[0-9A-Za-z]{8}_\w+`)

func (l *logBuffer) wantNoKey(t testing.TB) {
	t.Helper()
	text := l.String()
	if strings.Contains(text, key) || tokenPattern.MatchString(text) {
		t.Errorf("log: got an API key in it, want none:\n%s", text)
	}
}
