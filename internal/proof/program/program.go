// Package program builds the service in the process of a test, or starts it in another.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/keys"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

// Key is a fixed API key that the handlers of this package accept.
const Key = "an-api-key-for-the-tests"

// Stores has a function for each kind of store that tests can use. It starts a server if the kind
// needs one, and returns a function that makes the address of a new store. Files with build tags
// add the kinds that need a server.
var Stores = map[string]func(testing.TB) (newAddress func() string){}

func init() {
	for _, k := range address.Kinds {
		if !k.Server {
			Stores[k.Name] = func(t testing.TB) func() string {
				return func() string { return strings.Replace(k.Form, "PATH", filepath.Join(t.TempDir(), "new.db"), 1) }
			}
		}
	}
}

// NewStore returns the address of a new store of the default kind.
func NewStore(t testing.TB) string { return Stores[address.Kinds[0].Name](t)() }

// Open opens the store at an address until the test ends.
func Open(t testing.TB, text string) store.Store {
	var a address.Address
	require.NoError(t, a.Set(text))
	st := example.Must(a.Open(t.Context(), text, db.Options{}))
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	return st
}

// NewHandler returns the service on a store. It accepts Key and the keys in the store. log may be nil.
func NewHandler(st store.Store, log *slog.Logger) *edge.Handler {
	return example.Must(service.NewHandler(st, keys.NewKeyring(st, []string{Key}), edge.Options{Logger: log}))
}

// Send sends a request with Key, a body of JSON, which may be empty, and other lines of the header such as
// "Name: value". It returns the status and the body of the response.
func Send(ctx context.Context, c *http.Client, method, url, body string, header ...string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+Key)
	r.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	response, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	return response.StatusCode, string(received), err
}

// Process is a program that runs until the test ends.
type Process struct {
	*os.Process
	Addr  string
	ended chan error // gets the result of Wait
}

// Stop sends SIGTERM, and returns how the program ended.
func (p *Process) Stop() error {
	defer time.AfterFunc(20*time.Second, func() { _ = p.Kill() }).Stop()
	return errors.Join(p.Signal(syscall.SIGTERM), <-p.ended)
}

// Serve runs .bin/petstore for a package of internal/proof, and returns once it listens at addr.
// The program accepts Key unless PETSTORE_API_KEYS is set.
func Serve(t testing.TB, addr string, args ...string) *Process {
	cmd := exec.Command("../../../.bin/petstore", append([]string{"serve", "--addr", addr}, args...)...)
	cmd.Env = append([]string{"PETSTORE_API_KEYS=" + Key}, os.Environ()...)
	return Start(t, cmd, addr)
}

// Start runs a program, and returns once it listens at addr, HOST:PORT or unix:PATH. If the test
// fails, it logs the end of what the program printed, unless cmd has another use for it.
func Start(t testing.TB, cmd *exec.Cmd, addr string) *Process {
	var out bytes.Buffer
	if cmd.Stdout == nil && cmd.Stderr == nil {
		cmd.Stdout, cmd.Stderr = &out, &out
	}
	require.NoError(t, cmd.Start())
	p := &Process{cmd.Process, addr, make(chan error, 1)}
	go func() {
		p.ended <- cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Kill() // it may have ended
		for range p.ended {
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", cmd, out.Bytes()[max(0, out.Len()-4<<10):])
		}
	})
	network, address := server.Network(addr)
	dbtest.Eventually(t, cmd.String()+" listens at "+addr, func() bool {
		require.Zero(t, len(p.ended), "%s ended before it listened", cmd)
		conn, err := net.Dial(network, address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return p
}

// FreeAddress returns an address with a free port, below the ephemeral ports.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}
