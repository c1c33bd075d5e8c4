package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/pets/store/sqlite/disktest"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// failingDisk, in the environment, has the program run on a disk that loses the pages
// of a fold, once.
const failingDisk = "PETSTORE_TEST_FAILING_DISK"

// mountDisk mounts the disk that the environment asks for.
func mountDisk() error {
	if os.Getenv(failingDisk) == "" {
		return nil
	}
	const commits = 100 // far more than a start makes
	var logSyncs int
	return disktest.Mount(func(c disktest.Call) disktest.Fault {
		switch {
		case c == disktest.Call{Op: disktest.Sync, Log: true}:
			logSyncs++
		case c == disktest.Call{Op: disktest.Sync} && logSyncs > commits:
			logSyncs = 0
			return disktest.Lost
		}
		return disktest.None
	})
}

// createUntilRefused creates pets until the server refuses one or is gone.
func createUntilRefused(t *testing.T, server *process, acknowledged *ledger, name string) {
	for {
		var created pet
		response, err := server.call("POST", "/v1/pets", pet{Name: name, Status: "sold"}, &created)
		if err != nil || response.StatusCode == http.StatusInternalServerError {
			return
		}
		if response.StatusCode != http.StatusCreated {
			t.Errorf("a create: got %d, want 201 until there is a 500", response.StatusCode)
			return
		}
		if err := acknowledged.add(created); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestADiskThatLosesPagesOfTheFileEndsTheServer(t *testing.T) {
	judge := contracttest.NewJudge(t)
	database := "sqlite:" + t.TempDir() + "/pets.db"
	t.Setenv(failingDisk, "1")
	server := startProcess(t, judge, "--store", database)
	if err := os.Unsetenv(failingDisk); err != nil {
		t.Fatal(err)
	}
	acknowledged := &ledger{pets: map[int64]pet{}}
	acknowledged.next(1)
	const clients = 8
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() { createUntilRefused(t, server, acknowledged, fmt.Sprint(client)) })
	}
	running.Wait()
	if state := server.wait(t); state.ExitCode() != 1 {
		t.Errorf("the server: got %v, want exit status 1", state)
	}
	const want = "the log could not be folded into the file: disk I/O error (1034), fsync"
	if log := server.output.String(); !strings.Contains(log, want) {
		t.Errorf("the log: got %s, want it to say %q", log, want)
	}
	if _, err := os.Stat(strings.TrimPrefix(database, "sqlite:") + "-wal"); errors.Is(err, os.ErrNotExist) {
		t.Error("the write-ahead log: got it removed, want it left for the next start")
	}
	wantAll(t, startProcess(t, judge, "--store", database), acknowledged, clients)
}
