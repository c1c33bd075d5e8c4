package main

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/edge"
)

const key = "clinic-key-0000001"

// stores opens an empty store of each kind. Those that need other programs have files of their own.
var stores = map[string]func(t *testing.T) string{
	"sqlite": func(t *testing.T) string { return filepath.Join(t.TempDir(), "clinic.db") },
}

func openTest(t *testing.T, address func(t *testing.T) string) Store {
	t.Helper()
	s, err := openStore(t.Context(), address(t), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newHandler(t *testing.T, s Store, tokens *Tokens) http.Handler {
	t.Helper()
	fixed := map[string]edge.Caller{key: {ID: "fixed-1", MayWrite: true}}
	h, err := NewHandler(s, fixed, tokens, edge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestServe starts the service on a Unix socket, and stops it.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	dir, served := t.TempDir(), make(chan error, 1)
	socket := filepath.Join(dir, "s")
	go func() {
		served <- serve(ctx, []string{"-addr", "unix:" + socket, "-store", filepath.Join(dir, "clinic.db")}, key)
	}()
	for len(served) == 0 {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			break
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := serve(t.Context(), nil, "short"); err == nil {
		t.Error("a short key: got no error")
	}
}
