package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/properties"
)

// following is the program on a store, whose pets the test of properties follows.
type following struct {
	t       *testing.T
	judge   *contracttest.Judge
	kind    storeKind
	address string
	process *process
}

func follow(t *testing.T, judge *contracttest.Judge, kind storeKind, address string) *following {
	f := &following{t: t, judge: judge, kind: kind, address: address}
	f.process = startProcess(t, judge, "--store", address)
	return f
}

// request sends a request and returns the body of its response, which must have the
// status.
func (f *following) request(method, target string, body []byte, key string, status int) ([]byte, error) {
	r, err := http.NewRequest(method, f.process.base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+processKey)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := f.process.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: got %d %s, want %d", method, target, response.StatusCode, text, status)
	}
	return text, err
}

func (f *following) Create(body []byte, key string) ([]byte, error) {
	return f.request("POST", "/v1/pets", body, key, http.StatusCreated)
}

func (f *following) Get(id string) ([]byte, error) {
	return f.request("GET", "/v1/pets/"+id, nil, "", http.StatusOK)
}

func (f *following) List() ([]byte, error) {
	return f.request("GET", "/v1/pets?limit=100", nil, "", http.StatusOK)
}

func (f *following) Restart() error {
	if !f.kind.durable {
		return errors.ErrUnsupported
	}
	f.process.signal(f.t, syscall.SIGTERM)
	f.process.wait(f.t)
	f.process = startProcess(f.t, f.judge, "--store", f.address)
	return nil
}

// command runs another command of the program on a store.
func (f *following) command(store string, stdin []byte, args ...string) ([]byte, error) {
	if !f.kind.durable {
		return nil, errors.ErrUnsupported
	}
	var stdout, stderr bytes.Buffer
	status := run(f.t.Context(), environment{
		args:   args,
		getenv: func(name string) string { return map[string]string{"PETSTORE_STORE": store}[name] },
		stdin:  bytes.NewReader(stdin), stdout: &stdout, stderr: &stderr,
	})
	if status != 0 {
		return nil, fmt.Errorf("petstore %q: got status %d: %s", args, status, stderr.String())
	}
	return stdout.Bytes(), nil
}

func (f *following) Export(format string) ([]byte, error) {
	return f.command(f.address, nil, "export", "--format", format)
}

// into returns the program on a new store, which the command has filled.
func (f *following) into(stdin []byte, args ...string) (properties.Service, error) {
	address := f.kind.address(f.t, f.t.TempDir())
	if _, err := f.command(address, stdin, args...); err != nil {
		return nil, err
	}
	return follow(f.t, f.judge, f.kind, address), nil
}

func (f *following) Import(format string, file []byte) (properties.Service, error) {
	return f.into(file, "import", "--format", format, "-")
}

// Restored restores a backup of an SQLite file. Other stores have backups of their own,
// and an export that comes back with its identifiers.
func (f *following) Restored() (properties.Service, error) {
	if f.kind.name == "sqlite" {
		backup := filepath.Join(f.t.TempDir(), "backup.db")
		if _, err := f.command(f.address, nil, "backup", backup); err != nil {
			return nil, err
		}
		return f.into(nil, "restore", backup)
	}
	file, err := f.Export("ndjson")
	if err != nil {
		return nil, err
	}
	return f.into(file, "import", "--restore", "-")
}

// The document says which properties there are.
func TestEveryPropertyOfARequestIsReturnedWhereverThePetIs(t *testing.T) {
	judge := contracttest.NewJudge(t)
	for _, kind := range stores {
		t.Run(kind.name, func(t *testing.T) {
			losses, stages, err := properties.Check(judge.Document(), follow(t, judge, kind, kind.address(t, t.TempDir())))
			if err != nil {
				t.Fatal(err)
			}
			for _, loss := range losses {
				t.Error(loss)
			}
			if want := map[bool]int{true: 9, false: 3}[kind.durable]; len(stages) != want {
				t.Errorf("stages beside the 201: got %q, want %d", stages, want)
			}
		})
	}
}
