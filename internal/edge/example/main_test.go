package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/edge"
)

const (
	key = "a-key-of-the-boards"

	// patience is how long a test waits for an event that must come.
	patience = 20 * time.Second
)

// program is the service as it runs.
type program struct {
	base, root, metrics string
	stop                func()   // as SIGTERM does
	ended               chan int // the exit status
	mu                  sync.Mutex
	out                 bytes.Buffer
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// find waits until the output matches, and returns the first group.
func (p *program) find(t *testing.T, pattern string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(p.output()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("output: got %s, want a match of %s", p.output(), pattern)
	return ""
}

// start runs the service until the test ends.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &program{stop: stop, ended: make(chan int, 1)}
	variables := map[string]string{"BOARDS_ADDR": "127.0.0.1:0", "BOARDS_ADMIN_ADDR": "127.0.0.1:0", "BOARDS_LOG_FORMAT": "json"}
	go func() {
		p.ended <- edge.RunIn(ctx, edge.Environment{
			Args: args, Getenv: func(name string) string { return variables[name] }, Stdout: p, Stderr: p,
		}, service(key))
	}()
	p.base = p.find(t, `"msg":"serving","address":"([^"]+)"`)
	p.root = strings.TrimSuffix(p.base, "/v2")
	p.metrics = p.find(t, `"msg":"metrics","address":"([^"]+)"`)
	t.Cleanup(func() {
		stop()
		p.wantEnd(t)
	})
	return p
}

// wantEnd wants the program to end with 0.
func (p *program) wantEnd(t *testing.T) {
	t.Helper()
	select {
	case status := <-p.ended:
		if status != 0 {
			t.Errorf("exit status: got %d, want 0: %s", status, p.output())
		}
		p.ended <- status // for the next who asks
	case <-time.After(patience):
		t.Fatalf("end: got none, want it: %s", p.output())
	}
}

// send returns the response to a request and its body. A body is sent as JSON.
func (p *program) send(t *testing.T, method, address, body string, fields ...string) (*http.Response, string) {
	t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.base + address
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, strings.TrimSpace(string(text))
}

// conversation is requests in order, each with the response that is wanted.
var conversation = []struct {
	method, path, body string
	status             int
	want               string
}{
	{"GET", "/summary", "", 200, `{"tasks":0}`},
	{"GET", "/boards/home/tasks", "", 200, `[]`},
	{"POST", "/boards/home/tasks", `{"title":"sweep"}`, 201, `{"id":1,"state":"open","title":"sweep"}`},
	{
		"POST", "/boards/home/tasks", `{"title":"paint","due":"2026-12-01T10:00:00+02:00","assignee":{"kind":"team","size":3,"name":"not a team's"}}`, 201,
		`{"assignee":{"kind":"team","size":3},"due":"2026-12-01T10:00:00+02:00","id":2,"state":"open","title":"paint"}`,
	},
	{"POST", "/boards/home/tasks", `{"title":"rest","due":null,"assignee":{"kind":"person","name":"Ada"}}`, 201, `{"assignee":{"kind":"person","name":"Ada"},"due":null,"id":3,"state":"open","title":"rest"}`},
	{"POST", "/boards/home/tasks", `{"title":"sweep"}`, 409, `{"code":"title_taken","message":"another task of this board has this title","status":409}`},
	{"POST", "/boards/work/tasks", `{"title":"sweep"}`, 201, `{"id":4,"state":"open","title":"sweep"}`},
	{"GET", "/boards/home/tasks/2", "", 200, `{"assignee":{"kind":"team","size":3},"due":"2026-12-01T10:00:00+02:00","id":2,"state":"open","title":"paint"}`},
	{"PATCH", "/boards/home/tasks/2", `{"due":null,"state":"done"}`, 200, `{"assignee":{"kind":"team","size":3},"due":null,"id":2,"state":"done","title":"paint"}`},
	{"PATCH", "/boards/home/tasks/2", `{}`, 200, `{"assignee":{"kind":"team","size":3},"due":null,"id":2,"state":"done","title":"paint"}`},
	{"PATCH", "/boards/home/tasks/2", `{"title":"sweep"}`, 409, `{"code":"title_taken","message":"another task of this board has this title","status":409}`},
	{"PATCH", "/boards/home/tasks/1", `{"state":"started"}`, 200, `{"id":1,"state":"started","title":"sweep"}`},
	{"GET", "/boards/home/tasks?state=started&state=done", "", 200, `[{"id":1,"state":"started","title":"sweep"},{"assignee":{"kind":"team","size":3},"due":null,"id":2,"state":"done","title":"paint"}]`},
	{"DELETE", "/boards/home/tasks/1", "", 204, ``},
	{"DELETE", "/boards/home/tasks/1", "", 404, `{"code":"not_found","message":"there is no such task on this board","status":404}`},
	{"GET", "/boards/work/tasks/2", "", 404, `{"code":"not_found","message":"there is no such task on this board","status":404}`},
	{"PATCH", "/boards/work/tasks/2", `{}`, 404, `{"code":"not_found","message":"there is no such task on this board","status":404}`},
	{"GET", "/summary", "", 200, `{"tasks":3}`},

	{"GET", "/boards/HOME/tasks", "", 400, `{"code":"invalid_parameter","message":"boardId must be 1 to 20 letters of a-z","status":400}`},
	{"GET", "/boards/home/tasks/1e2", "", 400, `{"code":"invalid_parameter","message":"taskId must be an integer between -9223372036854775808 and 9223372036854775807","status":400}`},
	{"GET", "/boards/home/tasks?state=open,done", "", 400, `{"code":"invalid_parameter","message":"state[0] must be one of open, started, done","status":400}`},
	{"POST", "/boards/home/tasks", `{"title":""}`, 400, `{"code":"invalid_body","message":"title must be at least 1 character","status":400}`},
	{"POST", "/boards/home/tasks", `{"title":"x","due":"today"}`, 400, `{"code":"invalid_body","message":"due must be a date-time as RFC 3339 has it","status":400}`},
	{"POST", "/boards/home/tasks", `{"title":"x","assignee":{"kind":"team","size":0}}`, 400, `{"code":"invalid_body","message":"assignee.size must be between 1 and 2147483647","status":400}`},
	{"POST", "/boards/home/tasks", `{"title":"x","assignee":{"kind":"dog"}}`, 400, `{"code":"invalid_body","message":"assignee.kind must be one of person, team","status":400}`},
	{"PUT", "/boards/home/tasks", `{}`, 405, `{"code":"method_not_allowed","message":"this path does not support the method; the Allow header lists those it does","status":405}`},
	{"GET", "/boards", "", 404, `{"code":"not_found","message":"there is nothing at this path","status":404}`},
}

func TestEveryOperationDoesWhatTheDocumentSays(t *testing.T) {
	p := start(t, "--drain", "0s")
	for _, c := range conversation {
		response, got := p.send(t, c.method, c.path, c.body)
		if response.StatusCode != c.status || got != c.want {
			t.Errorf("%s %s %s: got %d %s, want %d %s", c.method, c.path, c.body, response.StatusCode, got, c.status, c.want)
		}
	}
	response, _ := p.send(t, "PUT", "/boards/home/tasks", `{}`)
	if got := response.Header.Get("Allow"); got != "OPTIONS, GET, HEAD, POST" {
		t.Errorf("Allow: got %q, want OPTIONS, GET, HEAD, POST", got)
	}
	response, _ = p.send(t, "PATCH", "/boards/home/tasks/2", `{}`, "Content-Type", "text/plain")
	if got := response.Header.Get("Accept-Patch"); response.StatusCode != 415 || got != "application/json" {
		t.Errorf("PATCH of another media type: got %d with Accept-Patch %q, want 415 with application/json", response.StatusCode, got)
	}
}

func TestEveryOperationButThePublicOneNeedsTheKey(t *testing.T) {
	p := start(t, "--drain", "0s")
	for _, authorization := range []string{"", "Bearer another-key", "Basic " + key} {
		for path, want := range map[string]int{"/boards/home/tasks": 401, "/boards/home/tasks/1": 401, "/summary": 200} {
			response, body := p.send(t, "GET", path, "", "Authorization", authorization)
			if response.StatusCode != want {
				t.Errorf("GET %s with %q: got %d %s, want %d", path, authorization, response.StatusCode, body, want)
			}
			if challenge := response.Header.Get("WWW-Authenticate"); (want == 401) != strings.HasPrefix(challenge, `Bearer realm="boards"`) {
				t.Errorf("GET %s with %q: got the challenge %q, want one of boards with 401 alone", path, authorization, challenge)
			}
		}
	}
}

func TestProbesDocumentPageAndMetricsAreTheServices(t *testing.T) {
	p := start(t, "--drain", "0s")
	document, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/livez": `{"status":"alive"}`, "/readyz": `{"status":"ready"}`, "/docs": "<title>Task Boards</title>",
		"/openapi.json": `"title":"Task Boards"`, "/openapi.yaml": strings.TrimSpace(string(document)),
	} {
		if response, body := p.send(t, "GET", p.root+path, "", "Authorization", ""); response.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("GET %s: got %d %.200s, want 200 with %.200s", path, response.StatusCode, body, want)
		}
	}
	p.send(t, "GET", "/summary", "")
	_, figures := p.send(t, "GET", p.metrics, "")
	for _, want := range []string{`boards_http_request_duration_seconds_count{operation="countTasks",status="200"} 1`, `boards_build_info{`, `version="1.0.0"`} {
		if !strings.Contains(figures, want) {
			t.Errorf("metrics: got none with %s", want)
		}
	}
}

func TestADrainServesOnAndEndsWithZero(t *testing.T) {
	p := start(t, "--drain", "1s")
	p.stop()
	p.find(t, `("msg":"stopping)`)
	response, body := p.send(t, "GET", p.root+"/readyz", "")
	if response.StatusCode != 503 {
		t.Errorf("/readyz while it drains: got %d %s, want 503", response.StatusCode, body)
	}
	if response, body := p.send(t, "POST", "/boards/home/tasks", `{"title":"last"}`); response.StatusCode != 201 || !response.Close {
		t.Errorf("POST while it drains: got %d %s, close %t, want 201 and Connection: close", response.StatusCode, body, response.Close)
	}
	p.wantEnd(t)
	for line := range strings.Lines(p.output()) {
		if !json.Valid([]byte(line)) || strings.Contains(line, key) {
			t.Errorf("log: got %s, want JSON without the key", line)
		}
	}
}
