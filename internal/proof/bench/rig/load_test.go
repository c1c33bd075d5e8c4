//go:build wrk

package rig

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// listening returns a server, in this process, whose responses have the status, and a
// function that stops it and tells how often each path was asked for.
func listening(t *testing.T, status int) (*Server, func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	asked := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		w.WriteHeader(status)
	}))
	t.Cleanup(web.Close)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: web.Listener.Addr().String(), cmd: &exec.Cmd{Process: self}}
	return s, func() map[string]int {
		web.Close() // the requests on their way have ended then
		return asked
	}
}

func numbered(n int) (requests [][]byte) {
	for i := range n {
		requests = append(requests, Get(fmt.Sprintf("/%d", i)))
	}
	return requests
}

func TestALoadSendsItsRequestsInTurns(t *testing.T) {
	t.Parallel()
	s, asked := listening(t, http.StatusOK)
	r, err := Load{Requests: numbered(5), Connections: 3, Duration: time.Second}.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	total, least, most := 0, r.Requests, 0
	for _, n := range asked() {
		total, least, most = total+n, min(least, n), max(most, n)
	}
	total--            // the one behind the load
	const underway = 3 // requests at the end, one a connection, with or without a response
	if len(asked()) != 5 || most-least > 1+underway {
		t.Errorf("got %v, want five paths in turns", asked())
	}
	if r.Requests > total || total-r.Requests > underway {
		t.Errorf("wrk counts %d responses and the server %d", r.Requests, total)
	}
}

func TestALoadThatSendsOnceSendsEachRequestOnce(t *testing.T) {
	t.Parallel()
	s, asked := listening(t, http.StatusOK)
	r, err := Load{Requests: numbered(50), Once: true, Connections: 3, Duration: time.Second}.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	for path, n := range asked() {
		if n != 1 {
			t.Errorf("%s was sent %d times", path, n)
		}
	}
	if len(asked()) != 50 || r.Requests != 50 {
		t.Errorf("got %d paths and %d responses, want 50", len(asked()), r.Requests)
	}
}

func TestALoadFailsWhereAStatusIsWrong(t *testing.T) {
	t.Parallel()
	s, _ := listening(t, http.StatusUnauthorized)
	_, err := Load{Requests: numbered(1), Connections: 3, Duration: time.Second}.Run(s)
	if err == nil || !strings.Contains(err.Error(), "Status:") || strings.Contains(err.Error(), "Status:0") {
		t.Errorf("got %v, want how many responses had a status of 400 or more", err)
	}
}

func TestALoadFailsWhereTheSuccessIsAnotherThanItsMethods(t *testing.T) {
	t.Parallel()
	s, _ := listening(t, http.StatusOK)
	_, err := Load{Requests: [][]byte{Post(`{}`)}, Connections: 1, Duration: time.Second}.Run(s)
	if err == nil || !strings.Contains(err.Error(), "200, not 201") {
		t.Errorf("a create with a 200: got %v, want an error that names both statuses", err)
	}
}
