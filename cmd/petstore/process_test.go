package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/contract/contracttest"
)

const processKey = "a-key-for-the-tests-of-processes"

// process is the program in a process of its own, which can be killed.
type process struct {
	cmd    *exec.Cmd
	output output
	exited chan error
	base   string // http://127.0.0.1:…, or https
	client *http.Client
	judge  *contracttest.Judge
}

// startProcess runs `petstore serve` on a free port. The end of the test kills
// what is left of it.
func startProcess(t *testing.T, judge *contracttest.Judge, args ...string) *process {
	t.Helper()
	return startProcessIn(t, judge, nil, args...)
}

// startProcessIn is startProcess with the command run by another one, whose words
// are wrapper.
func startProcessIn(t *testing.T, judge *contracttest.Judge, wrapper []string, args ...string) *process {
	t.Helper()
	command := slices.Concat(wrapper, []string{self(t), "serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args)
	p := &process{
		cmd:    exec.Command(command[0], command[1:]...),
		exited: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: giveUp},
		judge:  judge,
	}
	p.cmd.Env = append(os.Environ(), runAgain+"=1", "PETSTORE_API_KEYS="+processKey)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		_ = p.cmd.Process.Kill() // it may be gone already
	})
	p.waitFor(t, `"msg":"serving"`)
	match := servingLine.FindStringSubmatch(p.output.String())
	p.base = strings.TrimSuffix(match[1], web.BasePath)
	return p
}

// self returns the path of this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// waitFor waits until the process has written text.
func (p *process) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(giveUp); !strings.Contains(p.output.String(), text); time.Sleep(time.Millisecond) {
		select {
		case err := <-p.exited:
			t.Fatalf("the process ended (%v) before it wrote %q: %s", err, text, p.output.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("output: got %s, want %q by now", p.output.String(), text)
		}
	}
}

// wait returns how the process ended.
func (p *process) wait(t *testing.T) *os.ProcessState {
	t.Helper()
	select {
	case err := <-p.exited:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ProcessState
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.cmd.ProcessState
	case <-time.After(giveUp):
		t.Fatalf("the process does not end: %s", p.output.String())
		return nil
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// pet is the contract's Pet, written down once more by hand.
type pet struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// call sends a request, has its response judged and decodes it into result. An
// error means that no whole response came.
func (p *process) call(method, target string, body, result any) (*http.Response, error) {
	var encoded bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&encoded).Encode(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequest(method, p.base+target, &encoded)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+processKey)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if err := p.judge.Check(r, response, text); err != nil {
		return nil, fmt.Errorf("%s %s responds %d %s\n%w", method, target, response.StatusCode, text, err)
	}
	if response.StatusCode >= 300 {
		return response, nil
	}
	return response, json.Unmarshal(text, result)
}

// walk follows the pages to their end.
func (p *process) walk(t *testing.T) (pets []pet) {
	t.Helper()
	for next := "/v1/pets?limit=100"; next != ""; {
		var page []pet
		response, err := p.call("GET", next, nil, &page)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: got %v, %v, want 200", next, response, err)
		}
		pets = append(pets, page...)
		next, _, _ = strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	}
	return pets
}

// halfSent opens a connection and sends a request but for its body, once the
// server has begun to work on it: it has asked for the body.
func (p *process) halfSent(t *testing.T, body string) (io.Writer, *bufio.Reader) {
	t.Helper()
	conn := dial(t, strings.TrimPrefix(p.base, "http://"))
	head := "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer " + processKey +
		"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	rest := bufio.NewReader(conn)
	line, err := rest.ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("first line: got %q (%v), want 100 Continue", line, err)
	}
	if _, err := rest.Discard(len("\r\n")); err != nil {
		t.Fatal(err)
	}
	return conn, rest
}
