package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var octets = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// canaries are keys that a run of everything must show nowhere: the fixed key of
// a server, and a key of its store.
type canaries []string

// in returns which of them, whole or by its first two thirds, stands in text, or can be
// decoded from it.
func (c canaries) in(text []byte) string {
	for range 4 {
		text = octets.ReplaceAllFunc(text, func(e []byte) []byte {
			c, _ := hex.DecodeString(string(e[1:])) // by the expression
			return c
		})
	}
	for _, key := range c {
		for _, part := range []string{key, key[:len(key)*2/3]} {
			if bytes.Contains(text, []byte(part)) {
				return part
			}
		}
	}
	return ""
}

// encodedOnce percent-encodes every octet of s.
func encodedOnce(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// misplaced are requests with a key where clients put it by mistake.
func misplaced(key string) []string {
	return []string{
		"GET /v1/pets/" + key + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /" + strings.Repeat("x", 240) + key + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/pets/" + encodedOnce(key) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/pets/" + encodedOnce(encodedOnce(key)) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /" + encodedOnce(key[:8]) + encodedOnce(encodedOnce(encodedOnce(key[8:]))) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/pets?api_key=" + key + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/pets?limit=" + key + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n",
		"GET /v1/pets?status=" + key + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + key + "\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "x\r\n\r\n",
		"GET /v1/pets HTTP/1.1\r\nHost: " + key + "\r\nUser-Agent: " + key + "\r\nX-Forwarded-For: " + key + "\r\ntraceparent: 00-" + key + "\r\n\r\n",
		key + " /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/json\r\nContent-Length: 90\r\nConnection: close\r\n\r\n{\"name\":1,\"" + key + "\":2",
	}
}

func TestACanaryKeyIsFoundNowhereAfterARunOfEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := "sqlite:" + filepath.Join(dir, "pets.db")
	var seen bytes.Buffer // all that any part of the program has shown
	command := func(args ...string) string {
		t.Helper()
		var out, diagnostics bytes.Buffer
		status := run(t.Context(), environment{args: args, getenv: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &out, stderr: &diagnostics})
		if status != 0 {
			t.Fatalf("petstore %s: got exit status %d: %s", args[0], status, diagnostics.String())
		}
		_, _ = seen.Write(diagnostics.Bytes())
		return out.String()
	}
	stored := strings.TrimSpace(command("keys", "create", "--store", database, "canary"))
	keys := canaries{processKey, stored}

	server, admin := startObserved(t, "--store", database, "--log-level", "debug")
	for _, key := range keys {
		for _, request := range misplaced(key) {
			_, _ = seen.Write(rawResponse(t, strings.TrimPrefix(server.base, "http://"), request))
		}
	}
	if _, err := server.call(http.MethodPost, "/v1/pets", pet{Name: "Frank", CategoryID: 1, Status: "sold"}, &pet{}); err != nil {
		t.Fatal(err)
	}
	_, metrics := fetch(t, admin+"/metrics")
	animals := writeFile(t, "animals.csv", "name,categoryId\nKitty,2\n")
	for _, args := range [][]string{
		{"import", "--store", database, animals},
		{"export", "--store", database, filepath.Join(dir, "export.ndjson")},
		{"backup", "--store", database, filepath.Join(dir, "backup.db")},
		{"verify", "--store", database},
		{"keys", "list", "--store", database},
		{"keys", "list", "--json", "--store", database},
		{"keys", "revoke", "--store", database, "canary"},
	} {
		_, _ = seen.WriteString(command(args...))
	}
	server.signal(t, syscall.SIGTERM)
	server.wait(t)
	_, _ = seen.WriteString(metrics + server.output.String())

	if part := keys.in(seen.Bytes()); part != "" {
		t.Errorf("output: got %q in it, want no part of a key", part)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if part := keys.in(data); part != "" {
			t.Errorf("%s: got %q in it, want no part of a key", filepath.Base(path), part)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("files: got %d (%v), want the store, the export and the backup", files, err)
	}
}

// rawResponse sends the bytes and returns everything that comes back.
func rawResponse(t *testing.T, address, request string) []byte {
	t.Helper()
	conn := dial(t, address)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	response, _ := io.ReadAll(conn) // a reset may follow bytes that are not HTTP
	return response
}
