package main

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/proof/contract/contracttest"
)

func TestHealthSaysWhetherTheServerIsReady(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:", "--drain", "1h")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.base, "http://"))
	health := func() (int, string) {
		var stderr output
		code := run(t.Context(), environment{
			args:   []string{"health"},
			getenv: func(name string) string { return map[string]string{"PETSTORE_ADDR": "0.0.0.0:" + port}[name] },
			stdout: &stderr, stderr: &stderr,
		})
		return code, stderr.String()
	}
	if code, text := health(); code != 0 {
		t.Errorf("health of a server that serves: got %d (%s), want 0", code, text)
	}
	server.signal(t, syscall.SIGTERM)
	server.waitFor(t, `"msg":"stopping`)
	if code, text := health(); code != 1 || !strings.Contains(text, "not ready (status 503)") {
		t.Errorf("health of a server that drains: got %d (%s), want 1 and the status", code, text)
	}
	server.signal(t, syscall.SIGKILL)
	server.wait(t)
	if code, text := health(); code != 1 || !strings.Contains(text, "no response") {
		t.Errorf("health of no server: got %d (%s), want 1 and a reason", code, text)
	}
}

func TestSystemdIsToldWhenTheServerIsReadyAndWhenItStops(t *testing.T) {
	dir, err := os.MkdirTemp("", "notify") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: dir + "/s", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", dir+"/s")
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	_ = socket.SetReadDeadline(time.Now().Add(giveUp)) // it is open
	hears := func(want string) {
		t.Helper()
		buf := make([]byte, 64)
		n, err := socket.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("systemd: got %q (%v), want %q", buf[:n], err, want)
		}
	}
	hears("READY=1")
	server.signal(t, syscall.SIGTERM)
	hears("STOPPING=1")
	server.wait(t)
}
