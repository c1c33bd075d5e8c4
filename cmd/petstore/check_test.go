package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/check"
	"example.com/petstore/internal/pets/store"
	"example.com/petstore/internal/proof/petstoretest"
)

func TestColoursAreForATerminalThatWantsThem(t *testing.T) {
	for _, c := range []struct {
		interactive bool
		name        string
		want        bool
	}{
		{interactive: true, want: true},
		{interactive: true, name: "NO_COLOR"},
		{interactive: true, name: "TERM"},
		{interactive: false},
	} {
		got := hasColours(environment{interactive: c.interactive, getenv: func(name string) string {
			if name == c.name {
				return "dumb"
			}
			return ""
		}})
		if got != c.want {
			t.Errorf("at a terminal %t, %s set: got colours %t, want %t", c.interactive, c.name, got, c.want)
		}
	}
}

func TestTheKeyGoesOverTheWireInPlainOnlyWithAWarning(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:8080/v1":    false,
		"http://[::1]:8080/v1":        false,
		"http://localhost/v1":         false,
		"https://pets.example.com/v1": false,
		"http://pets.example.com/v1":  true,
		"http://10.0.0.1/v1":          true,
	} {
		base, err := check.ParseBase(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := unencrypted(base); got != want {
			t.Errorf("%s: got a warning %t, want %t", address, got, want)
		}
	}
}

func TestSIGINTEndsACheckWithWhatItHasSoFar(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	st, err := store.Open(t.Context(), store.Memory)
	if err != nil {
		t.Fatal(err)
	}
	right := petstoretest.Must(t, st, faultyKey)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "limit=0" && r.Header.Get("Authorization") != "" {
			reached <- struct{}{}
			<-r.Context().Done()
			return
		}
		right.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cmd := exec.Command(os.Args[0], "check", "--rate", "0", server.URL+"/v1")
	cmd.Env = append(os.Environ(), runAgain+"=1", "PETSTORE_KEY="+faultyKey)
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(giveUp):
		t.Errorf("the check never asks for limit=0")
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is looked at below
	text := out.String()
	for _, want := range []string{"  ok    a request without a key is 401", "rules not checked", "the check was ended before", " hold, 0 do not, ", "petstore: ended before all was checked"} {
		if !strings.Contains(text, want) {
			t.Errorf("output: got %s, want %q in it", text, want)
		}
	}
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit status: got %d, want 130", got)
	}
}

func TestAServerBehindTLSIsCheckedOverHTTP1And2(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		st, err := store.Open(t.Context(), store.Memory)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(petstoretest.Must(t, st, faultyKey))
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		authority := filepath.Join(t.TempDir(), "authority.pem")
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		if err := os.WriteFile(authority, block, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "check", "--write", "--rate", "0", server.URL+"/v1")
		cmd.Env = append(os.Environ(), runAgain+"=1", "PETSTORE_KEY="+faultyKey, "SSL_CERT_FILE="+authority)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "hold, 0 do not, 1 not checked") {
			t.Errorf("over HTTP/2 %t: got %v and %s, want every rule to hold", http2, err, out)
		}
	}
}
