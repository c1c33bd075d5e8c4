package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/proof/contract/contracttest"
)

// keptClient keeps its connection, sends without retrying, and connects anew
// when a response asks for it: to the server that stays, as a load balancer would
// have it.
type keptClient struct {
	servers [2]string // host:port of the one that ends, and of the one that stays
	leaving bool      // it was asked to leave
	conn    net.Conn
	rest    *bufio.Reader
	pause   time.Duration // between two requests
}

// create sends one request, and returns why no 201 came.
func (c *keptClient) create() error {
	if c.conn == nil {
		address := c.servers[0]
		if c.leaving {
			address = c.servers[1]
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		c.conn, c.rest = conn, bufio.NewReader(conn)
		if err := conn.SetDeadline(time.Now().Add(giveUp)); err != nil {
			return err
		}
	}
	const body = `{"name":"Frank","categoryId":1}`
	if _, err := fmt.Fprintf(c.conn, "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		processKey, len(body), body); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.rest, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.Close {
		_ = c.conn.Close()
		c.conn, c.leaving = nil, true
	}
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func TestAServerThatIsToldToEndCutsNoConnectionUnderLoad(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		for _, c := range []struct {
			name   string
			signal syscall.Signal
			drain  string
		}{
			{"drained", syscall.SIGTERM, "300ms"},
			{"at once", syscall.SIGINT, "1h"},
		} {
			t.Run(store.name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				address := store.address(t, t.TempDir())
				ending := startProcess(t, contracttest.NewJudge(t), "--store", address, "--drain", c.drain)
				staying := startProcess(t, contracttest.NewJudge(t), "--store", address)
				load := startKeptClients(t, ending, staying)
				load.began.Wait()
				load.wait(t, 200)
				ending.signal(t, c.signal)
				if state := ending.wait(t); state.ExitCode() != 0 {
					t.Errorf("exit: got %v, want status 0: %s", state, ending.output.String())
				}
				load.wait(t, 200)
				load.finish()
			})
		}
	}
}

// keptLoad is clients at work until it is finished.
type keptLoad struct {
	done  atomic.Int64
	began sync.WaitGroup // each client's first request
	stop  chan struct{}
	group sync.WaitGroup
}

func startKeptClients(t *testing.T, ending, staying *process) *keptLoad {
	l := &keptLoad{stop: make(chan struct{})}
	for i := range 8 {
		c := &keptClient{servers: [2]string{strings.TrimPrefix(ending.base, "http://"), strings.TrimPrefix(staying.base, "http://")}}
		if i == 0 {
			c.pause = 100 * time.Millisecond // it is quiet, but not for long
		}
		l.began.Add(1)
		l.group.Go(func() {
			began := sync.OnceFunc(l.began.Done)
			defer began()
			for {
				select {
				case <-l.stop:
					if c.conn != nil {
						_ = c.conn.Close()
					}
					return
				case <-time.After(c.pause):
				}
				if err := c.create(); err != nil {
					t.Errorf("a client that keeps its connection, asked to leave %t: got %v, want 201", c.leaving, err)
					return
				}
				l.done.Add(1)
				began()
			}
		})
	}
	return l
}

// wait waits for n more requests.
func (l *keptLoad) wait(t *testing.T, n int64) {
	t.Helper()
	for target, end := l.done.Load()+n, time.Now().Add(giveUp); l.done.Load() < target; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("requests: got %d, want %d by now", l.done.Load(), target)
		}
	}
}

func (l *keptLoad) finish() {
	close(l.stop)
	l.group.Wait()
}
