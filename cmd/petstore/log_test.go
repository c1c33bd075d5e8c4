package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The reader of the log may stop: a full pipe must not stop the service.
func TestAnUnreadLogStopsNoRequest(t *testing.T) {
	t.Parallel()
	stderr, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stderr.Close() })
	cmd := exec.Command(os.Args[0], "serve", "--sandbox", "--addr", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), runAgain+"=1")
	cmd.Stderr = writing
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = writing.Close() // the process has its own
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	first, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(first), "PETSTORE_URL="), "/v1")
	client := &http.Client{Timeout: giveUp}
	get := func(path string) {
		t.Helper()
		response, err := client.Get(address + path)
		if err != nil {
			t.Fatalf("%.20s: got error %v, want a response", path, err)
		}
		_ = response.Body.Close()
	}
	for range 3000 { // 1.5 MB of log, where a pipe holds 64 KiB
		get("/" + strings.Repeat("x", 200))
	}
	get("/livez")

	go func() { // lines are missing once something is written again
		for range 100 {
			if response, err := client.Get(address + "/nothing"); err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if regexp.MustCompile(`"level":"WARN".*"missing":[1-9]`).MatchString(lines.Text()) {
			return
		}
	}
	t.Errorf("the log: got its end (%v), want a line that says how many are missing", lines.Err())
}
