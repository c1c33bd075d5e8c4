package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/proof/contract/contracttest"
)

func TestASignalLetsTheRequestsUnderWayFinish(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			server := startProcess(t, contracttest.NewJudge(t), "--store", "sqlite:"+t.TempDir()+"/pets.db")
			const body = `{"name":"Frank","categoryId":1}`
			request, rest := server.halfSent(t, body)
			server.signal(t, signal)
			server.waitFor(t, `"msg":"stopping`)
			if _, err := io.WriteString(request, body); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(rest, nil)
			if err != nil || response.StatusCode != http.StatusCreated {
				t.Errorf("the request under way: got %v (%v), want 201", response, err)
			}
			if state := server.wait(t); state.ExitCode() != 0 {
				t.Errorf("exit: got %v, want status 0: %s", state, server.output.String())
			}
			if log := server.output.String(); !strings.Contains(log, `"msg":"stopped"`) || strings.Contains(log, processKey) {
				t.Errorf("log: got %s, want a last line and no key", log)
			}
		})
	}
}

func TestASecondSignalEndsAtOnceWhatIsStillUnderWay(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:")
	_, _ = server.halfSent(t, `{"name":"Frank","categoryId":1}`) // its body never comes
	server.signal(t, syscall.SIGTERM)
	server.waitFor(t, `"msg":"stopping`)
	server.signal(t, syscall.SIGTERM)
	if state := server.wait(t); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("exit: got %v, want the process ended by the signal", state)
	}
}

func TestADrainingServerAnswersAndSaysThatItIsNotReady(t *testing.T) {
	t.Parallel()
	server := startProcess(t, contracttest.NewJudge(t), "--store", "memory:", "--drain", "1h")
	server.signal(t, syscall.SIGTERM)
	server.waitFor(t, `"msg":"stopping`)
	var got any
	for path, want := range map[string]int{"/readyz": 503, "/livez": 200, "/v1/pets": 200} {
		if response, err := server.call("GET", path, nil, &got); err != nil || response.StatusCode != want {
			t.Errorf("%s while draining: got %v (%v), want %d", path, response, err, want)
		}
	}
	server.waitFor(t, `"reason":"stopping"`)
	server.signal(t, syscall.SIGTERM)
	if state := server.wait(t); state.Success() {
		t.Errorf("exit after the second signal: got %v, want an early end", state)
	}
}
