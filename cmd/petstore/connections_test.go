//go:build unix

package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/contract/contracttest"
)

func TestWithFewFilesIdleConnectionsWithoutAKeyKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		if store.name == "postgres" {
			continue // the files of its pool depend on the server's settings, not on this limit
		}
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			server := startProcessIn(t, contracttest.NewJudge(t), []string{"sh", "-c", `ulimit -n 64 && exec "$0" "$@"`}, "--store", store.address(t, t.TempDir()))
			for range 100 {
				dial(t, strings.TrimPrefix(server.base, "http://"))
			}
			var made pet
			resp, err := server.call(http.MethodPost, "/v1/pets", pet{Name: "Frank", CategoryID: 1, Status: "available"}, &made)
			if err != nil || resp.StatusCode != http.StatusCreated {
				t.Errorf("a client with a key beside 100 idle connections: got %v (%v), want 201", resp, err)
			}
		})
	}
}

func TestMoreConnectionsThanFilesAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("sh", "-c", `ulimit -n 64 && PETSTORE_TEST_BE_THE_PROGRAM=1 exec "$0" serve --addr 127.0.0.1:0 --store memory: --max-connections 40`, self(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the process may open 64 files (ulimit -n)") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("40 connections of 64 files: got %q (%v), want one sentence that refuses", out, err)
	}
}
