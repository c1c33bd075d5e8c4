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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pooler is a throwaway PgBouncer before a server, with transaction pooling:
// every transaction may be on another connection to the server.
type Pooler struct {
	server *Server
	port   int
}

// Pooler starts a PgBouncer before s, and stops it after the test.
func (s *Server) Pooler(t testing.TB) *Pooler {
	t.Helper()
	p, err := s.pooler(t)
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
pool_mode = transaction
default_pool_size = 10
max_client_conn = 500
server_idle_timeout = 1
`

func (s *Server) pooler(t testing.TB) (*Pooler, error) {
	program, err := poolerProgram()
	if err != nil {
		return nil, err
	}
	own, err := prepare()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(own.dir) })
	config, users := filepath.Join(own.dir, "pgbouncer.ini"), filepath.Join(own.dir, "users.txt")
	for name, text := range map[string]string{
		config: fmt.Sprintf(pooling, s.port, own.port, users),
		users:  `"postgres" ""` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(own.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := own.command("pgbouncer", config)
	cmd.Path, cmd.Err = program, nil
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &Pooler{s, own.port}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := pgx.Connect(ctx, p.Address(s.Address("postgres")))
		if err == nil {
			_ = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return p, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("it did not accept connections within 30 s: %w: %s", err, own.Log())
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

// Address returns the address by which the pooler leads to the database that
// the server has at an address, with the setting that transaction pooling needs.
func (p *Pooler) Address(direct string) string {
	pooled := "127.0.0.1:" + strconv.Itoa(p.port)
	return strings.Replace(direct, p.server.Host(), pooled, 1) + "&default_query_exec_mode=cache_describe"
}
