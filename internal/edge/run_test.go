package edge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/edge/constructs"
)

// patience is how long a test waits for an event that must come.
const patience = 20 * time.Second

// output is a buffer that is read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// find waits until the output matches, and returns the first group.
func (o *output) find(t *testing.T, pattern string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(o.String()); match != nil {
			return match[1]
		}
	}
	t.Fatalf("output: got %s, want a match of %s", o, pattern)
	return ""
}

// constructed is the service of the document of constructs; one key is valid.
func constructed() Service {
	s := config(constructs.Document)
	s.Operations = generated(refusing{err: Refuse(409, "conflict", "another one was here first")})
	s.Authenticate = func(_ context.Context, token string) (Identity, error) {
		if token != "a-valid-key" {
			return Identity{}, &InvalidKey{Reason: "unknown"}
		}
		return Identity{ID: "valid"}, nil
	}
	return s
}

// ask returns the status and the body of a response.
func ask(t *testing.T, method, address, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestAServiceRunsAsAProgram(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var log output
	variables := map[string]string{"TEST_ADMIN_ADDR": "127.0.0.1:0", "TEST_LOG_FORMAT": "json", "TEST_RATE_LIMIT": "1000"}
	ended := make(chan int, 1)
	go func() {
		ended <- RunIn(ctx, Environment{
			Args: []string{"--addr", "127.0.0.1:0", "--drain", "0s"}, Stdout: &log, Stderr: &log,
			Environ: []string{"TEST_DRIAN=hunter2", "TEST_ADMIN_ADDR=127.0.0.1:0", "PATH=/bin"},
			Getenv:  func(name string) string { return variables[name] },
		}, constructed())
	}()
	address := log.find(t, `"msg":"serving","address":"([^"]+)"`)
	metrics := log.find(t, `"msg":"metrics","address":"([^"]+)"`)
	if meant := log.find(t, `"variable":"TEST_DRIAN","perhaps":"([^"]+)"`); meant != "TEST_DRAIN" || strings.Count(log.String(), "WARN") != 1 || strings.Contains(log.String(), "hunter2") {
		t.Errorf("misspelt variable: got %s, want one warning, without its value", &log)
	}
	for token, want := range map[string]int{"a-valid-key": 415, "another-key": 401} {
		if status, body := ask(t, "POST", address+"/store/orders", token); status != want {
			t.Errorf("with %s: got %d %s, want %d", token, status, body, want)
		}
	}
	for path, want := range map[string]int{"/readyz": 200, "/docs": 200, "/openapi.yaml": 200, "/nothing": 404} {
		if status, body := ask(t, "GET", address+path, ""); status != want {
			t.Errorf("GET %s: got %d %.80s, want %d", path, status, body, want)
		}
	}
	_, figures := ask(t, "GET", metrics, "")
	for _, want := range []string{
		`test_http_request_duration_seconds_count{operation="readyz",status="200"} 1`, "test_connections_limit ",
		"test_store_calls_limit 256", `test_build_info{go_version="go`, "go_goroutines ",
	} {
		if !strings.Contains(figures, want) {
			t.Errorf("metrics: got none with %s", want)
		}
	}
	stop()
	select {
	case status := <-ended:
		if status != 0 || !strings.Contains(log.String(), `"msg":"stopped"`) {
			t.Errorf("end: got %d %s, want 0 and a last line", status, &log)
		}
	case <-time.After(patience):
		t.Fatalf("end: got none: %s", &log)
	}
}

func TestARunThatMakesNoSenseEndsBeforeAnyPortIsTaken(t *testing.T) {
	broken := constructed()
	broken.Document = []byte("openapi: [")
	for _, c := range []struct {
		args     string
		variable string
		service  Service
		status   int
		want     string
	}{
		{"--nonsense", "", constructed(), 2, "test: unknown flag: --nonsense; see test -h"},
		{"--adr :1", "", constructed(), 2, "test: unknown flag: --adr, perhaps --addr; see test -h"},
		{"more", "", constructed(), 2, `test: "more" is no flag; see test -h`},
		{"--addr 8080", "", constructed(), 2, `test: --addr "8080": give HOST:PORT`},
		{"", "TEST_DRAIN=soon", constructed(), 2, `test: TEST_DRAIN="soon", which stands for --drain: give a number and its unit`},
		{"--rate-limit -1", "", constructed(), 2, "--rate-limit must be 0 or more"},
		{"--drain -1s", "", constructed(), 2, "--drain must be 0 or more"},
		{"--max-in-flight 0", "", constructed(), 2, "--max-in-flight 0 must be 1 or more"},
		{"--pprof", "", constructed(), 2, "--pprof needs --admin-addr"},
		{"--tls-cert a.pem", "", constructed(), 2, "--tls-cert needs --tls-key"},
		{"--public-url ftp://a.b", "", constructed(), 2, `--public-url "ftp://a.b": give an http or https address`},
		{"--tls-cert none.pem --tls-key none.pem", "", constructed(), 1, "none.pem"},
		{"", "", broken, 1, "test: openapi.yaml: "},
		{"", "", Service{}, 1, "Name is missing"},
		{"-h", "", constructed(), 0, "[$TEST_MAX_CONNECTIONS]"},
		{"--version", "", constructed(), 0, "test 1\n"},
	} {
		var out output
		name, value, _ := strings.Cut(c.variable, "=")
		// 192.0.2.1 is no address of this machine, so a port there would be another error.
		args := append(strings.Fields("--addr 192.0.2.1:1"), strings.Fields(c.args)...)
		status := RunIn(t.Context(), Environment{
			Args: args, Stdout: &out, Stderr: &out,
			Getenv: func(asked string) string {
				if asked == name {
					return value
				}
				return ""
			},
		}, c.service)
		if status != c.status || !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "192.0.2.1") {
			t.Errorf("%s %s: got %d %s, want %d with %q", c.args, c.variable, status, fmt.Sprintf("%.200s", &out), c.status, c.want)
		}
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for columns, widest := range map[int]int{0: 80, 60: 60, 72: 72, 300: 100} {
		var out output
		if status := RunIn(t.Context(), Environment{Args: []string{"-h"}, Stdout: &out, Stderr: &out, Columns: columns}, constructed()); status != 0 {
			t.Fatalf("in %d columns: got %d, want 0", columns, status)
		}
		for line := range strings.Lines(out.String()) {
			if len(line)-1 > widest {
				t.Errorf("in %d columns: got %q, want at most %d characters", columns, line, widest)
			}
		}
		if want := "  --max-connections int\n      the most connections"; !strings.Contains(out.String(), want) {
			t.Errorf("in %d columns: got %s, want %q", columns, &out, want)
		}
	}
}
