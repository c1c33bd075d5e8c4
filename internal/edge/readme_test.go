package edge_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fenced is a block of code of a page, and its language.
var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// buffer is what a program prints, read while it runs.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestTheREADMELeadsFromAnEmptyFolderToARunningService does what a reader of the page
// does: it saves each block under the name in its first line, runs the commands in
// their order, and sends the requests. Only the port and the place of the clone are
// the test's.
func TestTheREADMELeadsFromAnEmptyFolderToARunningService(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## From an empty folder to a running service\n")
	section, _, _ = strings.Cut(section, "\n## ")
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, served := t.TempDir(), ""
	requests := 0
	for _, block := range fenced.FindAllStringSubmatch(section, -1) {
		language, text := block[1], block[2]
		switch language {
		case "yaml", "go":
			_, name, _ := strings.Cut(strings.SplitN(text, "\n", 2)[0], " ") // behind # or //
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "sh":
			text = strings.ReplaceAll(text, "$HOME/petstore", clone)
			commands, serves := strings.CutSuffix(text, "./notes\n")
			command := exec.CommandContext(t.Context(), "sh", "-e", "-c", commands)
			command.Dir = dir
			command.Env = append(os.Environ(), "PETSTORE="+clone, "GOFLAGS=-buildvcs=false")
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: got %v, want success\n%s", commands, err, out)
			}
			if serves {
				served = serve(t, filepath.Join(dir, "notes"))
			}
		case "console":
			for _, pair := range regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$].*\n)*)`).FindAllStringSubmatch(text, -1) {
				requests++
				if got := curl(t, strings.ReplaceAll(pair[1], "http://127.0.0.1:8080", served)); got != pair[2] {
					t.Errorf("%s: got %s, want %s", pair[1], got, pair[2])
				}
			}
		}
	}
	if requests < 6 {
		t.Errorf("requests of the page: got %d, want all six", requests)
	}
}

// serve runs the program at any free port until the test ends, and returns its
// address.
func serve(t *testing.T, program string) string {
	t.Helper()
	var out buffer
	command := exec.Command(program, "--addr", "127.0.0.1:0", "--log-format", "json", "--drain", "0s")
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err != nil {
			t.Errorf("end of the program: got %v, want status 0\n%s", err, &out)
		}
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if m := regexp.MustCompile(`"msg":"serving","address":"([^"]+)/v1"`).FindStringSubmatch(out.String()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("the program: got %s, want a line that it serves", &out)
	return ""
}

// curl does what a shell and curl do with a line, and returns what they print.
func curl(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `curl() { printf '%s\000' "$@"; }; `+line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	method, body, header := http.MethodGet, "", http.Header{}
	for i, arg := range args {
		switch arg {
		case "-d":
			method, body = http.MethodPost, args[i+1]
		case "-H":
			name, value, _ := strings.Cut(args[i+1], ": ")
			header.Set(name, value)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, args[len(args)-1], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
