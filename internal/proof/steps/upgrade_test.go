//go:build postgres

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

const key = "a-key-for-the-tests-of-upgrades"

// server is a program that serves.
type server struct {
	cmd  *exec.Cmd
	base string
}

// build builds the program of the tree at dir.
func build(t *testing.T, dir string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "petstore")
	mustRunIn(t, dir, "go", "build", "-o", program, "./cmd/petstore")
	return program
}

// serve starts the program on a store. The end of the test kills what is left of it.
func serve(t *testing.T, program, store string) *server {
	t.Helper()
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--drain", "0s")
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+key, "PETSTORE_STORE="+store)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return &server{cmd, line.Address}
		}
	}
	t.Fatalf("petstore serve on %s: got %s, want it to serve", store, said.String())
	return nil
}

// stop ends the server as an operator does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = s.cmd.Wait()
	}
	if err != nil {
		t.Errorf("the end of a server: got %v, want status 0", err)
	}
}

// want sends a request, whose response must be a success with this body.
func (s *server) want(t *testing.T, method, target, body, want string) {
	t.Helper()
	r, err := http.NewRequest(method, s.base+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", fmt.Sprintf("%x", body))
	}
	client := http.Client{Timeout: time.Minute}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if got := strings.TrimSpace(string(text)); err != nil || response.StatusCode > 201 || got != want {
		t.Errorf("%s %s %s: got %d %s (%v), want %s", method, target, body, response.StatusCode, got, err, want)
	}
}

const (
	plain   = `{"name":"Frank","categoryId":1,"status":"available"}`
	colored = `{"name":"Kitty","categoryId":2,"status":"sold","color":"ginger"}`
	grey    = `{"name":"Zoe","categoryId":3,"status":"sold","color":"grey"}`
	later   = `{"name":"Rex","categoryId":1,"status":"pending"}`
)

// withID returns the response to a request.
func withID(id int, body string) string { return fmt.Sprintf(`{"id":%d,%s`, id, body[1:]) }

// upgrade brings stores of today's program to the program of the tree at dir.
func upgrade(t *testing.T, dir string) {
	before, after := build(t, root), build(t, dir)

	t.Run("a file", func(t *testing.T) {
		store := "sqlite:" + filepath.Join(t.TempDir(), "pets.db")
		old := serve(t, before, store)
		old.want(t, "POST", "/pets", plain, withID(1, plain))
		old.stop(t)
		newer := serve(t, after, store)
		newer.want(t, "POST", "/pets", colored, withID(2, colored))
		newer.want(t, "POST", "/pets", plain, withID(1, plain)) // once more, to the same effect
		newer.want(t, "GET", "/pets", "", "["+withID(1, plain)+","+withID(2, colored)+"]")
		newer.stop(t)
	})

	t.Run("a cluster, one replica after the other", func(t *testing.T) {
		store := pgtest.Database(t)
		old := serve(t, before, store)
		old.want(t, "POST", "/pets", plain, withID(1, plain))
		newer := serve(t, after, store)
		newer.want(t, "POST", "/pets", colored, withID(2, colored))
		without := strings.Replace(colored, `,"color":"ginger"`, "", 1)
		old.want(t, "GET", "/pets", "", "["+withID(1, plain)+","+withID(2, without)+"]")
		old.want(t, "POST", "/pets", later, withID(3, later))
		old.stop(t)
		newer.want(t, "POST", "/pets", grey, withID(4, grey))
		newer.want(t, "GET", "/pets?after=1", "", "["+withID(2, colored)+","+withID(3, later)+","+withID(4, grey)+"]")
		newer.stop(t)
	})
}
