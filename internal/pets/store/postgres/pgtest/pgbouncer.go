//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pooler is a throwaway PgBouncer before a server, with transaction pooling:
// every transaction may be on another connection to the server.
type Pooler struct {
	server   *Server // the first it led to
	own      *Server // its folder and port
	settings []string
	process  *exec.Cmd
}

// Pooler starts a PgBouncer before s with these settings beside the usual ones,
// and stops it after the test.
func (s *Server) Pooler(t testing.TB, settings ...string) *Pooler {
	t.Helper()
	own, err := prepare()
	if err != nil {
		t.Fatalf("this test needs a PgBouncer: %v", err)
	}
	p := &Pooler{server: s, own: own, settings: settings}
	t.Cleanup(func() {
		p.Kill()
		_ = os.RemoveAll(own.dir)
	})
	if err = p.configure(s); err == nil {
		err = p.start()
	}
	if err != nil {
		t.Fatalf("this test needs a PgBouncer: %v", err)
	}
	return p
}

// pooling is the configuration. Databases come and go in tests, so connections
// to them are not kept for long.
const pooling = `[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
admin_users = postgres
pool_mode = transaction
default_pool_size = 10
max_client_conn = 500
server_idle_timeout = 1
%s
`

func (p *Pooler) config() string { return filepath.Join(p.own.dir, "pgbouncer.ini") }

func (p *Pooler) configure(to *Server) error {
	users := filepath.Join(p.own.dir, "users.txt")
	if err := os.WriteFile(users, []byte(`"postgres" ""`+"\n"), 0o644); err != nil {
		return err
	}
	text := fmt.Sprintf(pooling, to.port, p.own.port, users, strings.Join(p.settings, "\n"))
	return os.WriteFile(p.config(), []byte(text), 0o644)
}

// start starts the program and waits until a connection through it succeeds.
func (p *Pooler) start() error {
	program, err := poolerProgram()
	if err != nil {
		return err
	}
	log, err := os.Create(p.own.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := p.own.command("pgbouncer", p.config())
	cmd.Path, cmd.Err = program, nil
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.process = cmd
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := pgx.Connect(ctx, p.Address(p.server.Address("postgres")))
		if err == nil {
			_ = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it did not accept connections within 30 s: %w: %s", err, p.own.Log())
		}
	}
}

// Debian has the program where only root has a path to.
func poolerProgram() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the program is not there; run: apt-get install pgbouncer")
}

// Kill ends the pooler, and every connection of its clients and to the server.
func (p *Pooler) Kill() { p.end(syscall.SIGKILL) }

// Terminate ends the pooler as its service manager would at once.
func (p *Pooler) Terminate() { p.end(syscall.SIGTERM) }

func (p *Pooler) end(s syscall.Signal) {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Signal(s)
	_ = p.process.Wait()
	p.process = nil
}

// Restart starts a pooler again that has ended.
func (p *Pooler) Restart(t testing.TB) {
	t.Helper()
	if err := p.start(); err != nil {
		t.Fatalf("starting PgBouncer again: got error %v", err)
	}
}

// LeadTo makes the pooler lead to another server, as its operator would: by its
// configuration and RELOAD.
func (p *Pooler) LeadTo(t testing.TB, to *Server) {
	t.Helper()
	if err := p.configure(to); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	console := strings.Replace(p.server.Address("pgbouncer"), p.server.Host(), p.own.Host(), 1) + "&default_query_exec_mode=simple_protocol"
	c, err := pgx.Connect(ctx, console)
	if err != nil {
		t.Fatalf("connecting to PgBouncer's console: got error %v", err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "RELOAD"); err != nil {
		t.Fatalf("RELOAD: got error %v", err)
	}
}

// Address returns the address by which the pooler leads to the database that
// the server has at an address, with the setting that transaction pooling needs.
func (p *Pooler) Address(direct string) string {
	pooled := "127.0.0.1:" + strconv.Itoa(p.own.port)
	return strings.Replace(direct, p.server.Host(), pooled, 1) + "&default_query_exec_mode=cache_describe"
}
