//go:build postgres && torture

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// dbPassword is everybody's in a cluster that ends with its test.
const dbPassword = "torture"

// patroniCluster is three nodes as deploy/patroni has them, and one etcd.
type patroniCluster struct {
	dir   string
	etcd  *exec.Cmd
	nodes []*node
}

// node is a Patroni and the server it keeps.
type node struct {
	name, dir  string
	rest, port int
	env        []string
	patroni    *exec.Cmd
	exited     chan struct{}
}

// needPrograms fails with the names of missing programs.
func needPrograms(t *testing.T) {
	t.Helper()
	var missing []string
	for program, pkg := range map[string]string{"patroni": "patroni", "etcd": "etcd-server"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, pkg)
		}
	}
	if len(missing) > 0 {
		t.Fatalf("the torture of a Patroni cluster needs what is not installed here; run: apt-get install %s (Debian starts services with them: systemctl disable --now patroni etcd)", strings.Join(missing, " "))
	}
}

func startPatroni(t *testing.T, nodes int) *patroniCluster {
	t.Helper()
	needPrograms(t)
	bin, err := pgtest.Programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "petstore-torture-")
	if err != nil {
		t.Fatal(err)
	}
	c := &patroniCluster{dir: dir}
	t.Cleanup(func() { c.remove(t) })
	c.removeOnSignal(t)
	own(t, dir)

	client, peer := freePort(t), freePort(t)
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	clients := fmt.Sprintf("http://127.0.0.1:%d", client)
	c.etcd, _ = c.start(t, "etcd", nil, "etcd", "--data-dir", filepath.Join(dir, "etcd"),
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)

	c.write(t, "patroni.yml", c.configuration(t))
	for i := range nodes {
		n := &node{name: fmt.Sprintf("db%d", i+1), rest: freePort(t), port: freePort(t)}
		n.dir = filepath.Join(dir, n.name)
		host := "127.0.0.1:"
		n.env = []string{
			"PATRONI_NAME=" + n.name,
			"PATRONI_RESTAPI_LISTEN=" + host + strconv.Itoa(n.rest),
			"PATRONI_RESTAPI_CONNECT_ADDRESS=" + host + strconv.Itoa(n.rest),
			"PATRONI_ETCD3_HOSTS=" + host + strconv.Itoa(client),
			"PATRONI_POSTGRESQL_LISTEN=" + host + strconv.Itoa(n.port),
			"PATRONI_POSTGRESQL_CONNECT_ADDRESS=" + host + strconv.Itoa(n.port),
			"PATRONI_POSTGRESQL_DATA_DIR=" + n.dir,
			"PATRONI_POSTGRESQL_BIN_DIR=" + bin,
			"PATRONI_POSTGRESQL_PGPASS=" + n.dir + ".pgpass",
			"PATRONI_SUPERUSER_USERNAME=postgres", "PATRONI_SUPERUSER_PASSWORD=" + dbPassword,
			"PATRONI_REPLICATION_USERNAME=replicator", "PATRONI_REPLICATION_PASSWORD=" + dbPassword,
		}
		c.nodes = append(c.nodes, n)
		c.run(t, n)
		if i == 0 {
			c.leader(t, nil, time.Minute) // the others copy it
		}
	}
	c.whole(t)
	return c
}

// configuration is the file that is documented, but for what this machine may
// not have.
func (c *patroniCluster) configuration(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "patroni", "patroni.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), "local all all peer", "local all all trust", 1)
	// The usual folder of sockets is not everybody's.
	text = strings.Replace(text, "\npostgresql:\n", "\npostgresql:\n  parameters:\n    unix_socket_directories: '"+c.dir+"'\n", 1)
	// A watchdog would restart the machine that the test runs on.
	return strings.Replace(text, "mode: required", "mode: 'off'", 1)
}

// own gives a file or folder to the user that runs the servers.
func own(t *testing.T, path string) {
	t.Helper()
	if cred := pgtest.Credential(); cred != nil {
		if err := os.Chown(path, int(cred.Uid), int(cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *patroniCluster) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	own(t, path)
}

// start starts a program whose output goes to a file of that name.
func (c *patroniCluster) start(t *testing.T, name string, env []string, program string, args ...string) (*exec.Cmd, chan struct{}) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.Env = append([]string{"PATH=/usr/bin:/bin:" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + c.dir}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: pgtest.Credential()}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: got error %v", program, err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	return cmd, exited
}

func (c *patroniCluster) run(t *testing.T, n *node) {
	t.Helper()
	n.patroni, n.exited = c.start(t, n.name, n.env, "patroni", filepath.Join(c.dir, "patroni.yml"))
}

// processes returns Patroni and the server's processes, those that start others
// first.
func (n *node) processes() []int {
	all := append([]int{n.patroni.Process.Pid}, pgtest.Children(n.patroni.Process.Pid)...)
	b, _ := os.ReadFile(filepath.Join(n.dir, "postmaster.pid"))
	line, _, _ := strings.Cut(string(b), "\n")
	if postmaster, err := strconv.Atoi(line); err == nil && postmaster > 1 {
		all = append(append(all, postmaster), pgtest.Children(postmaster)...)
	}
	return all
}

func (n *node) signal(s syscall.Signal) {
	for _, pid := range n.processes() {
		_ = syscall.Kill(pid, s)
	}
}

// relieve makes the leader hand over, as before a restart of its machine. Patroni
// responds when it has.
func (n *node) relieve(t *testing.T) {
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Post(fmt.Sprintf("http://127.0.0.1:%d/switchover", n.rest), "application/json", strings.NewReader(`{"leader":"`+n.name+`"}`))
	if err != nil {
		t.Errorf("relieving %s: got error %v", n.name, err)
		return
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Errorf("relieving %s: got %d %s, want 200", n.name, resp.StatusCode, body)
	}
}

// kill ends the node as the death of its machine would.
func (n *node) kill() {
	n.signal(syscall.SIGSTOP)
	all := n.processes() // with those started meanwhile
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-n.exited
	for _, pid := range all {
		for deadline := time.Now().Add(10 * time.Second); pgtest.Lives(pid) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	// The machine would have come back without it, and the number may by now
	// be another's process.
	_ = os.Remove(filepath.Join(n.dir, "postmaster.pid"))
}

// removeOnSignal ends the cluster also where the test is interrupted,
// which then ends at once.
func (c *patroniCluster) removeOnSignal(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(signals) })
	go func() {
		<-signals
		c.remove(t)
		os.Exit(1)
	}()
}

// watchdog is when the one of patroni.yml restarts its machine: ttl less
// safety_margin after it last heard of Patroni.
const watchdog = 15 * time.Second

// freeze makes the node hold its connections and not respond, until the
// watchdog would restart the machine. This machine has none, and cannot be
// restarted either, so the test does both. A node without a watchdog is not safe.
// When it woke, Patroni 3.0 on etcd's version 3 now and then took its lease back
// from a leader that had acknowledged writes.
func (n *node) freeze() {
	n.signal(syscall.SIGSTOP)
	time.Sleep(watchdog)
	n.kill()
}

func (c *patroniCluster) remove(t *testing.T) {
	for _, n := range c.nodes {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.dir, n.name+".log"))
			lines := slices.DeleteFunc(strings.Split(string(log), "\n"), func(line string) bool {
				return strings.Contains(line, "no action") || strings.Contains(line, "Lock owner")
			})
			t.Logf("the end of %s's log: %s", n.name, strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
		n.kill()
	}
	if c.etcd != nil {
		_ = c.etcd.Process.Kill()
	}
	time.Sleep(100 * time.Millisecond) // etcd's last file
	if err := os.RemoveAll(c.dir); err != nil {
		t.Errorf("cleaning up: got error %v", err)
	}
}

func (n *node) address(user, database string) string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable&connect_timeout=1", user, dbPassword, n.port, database)
}

// address is that of the whole cluster, as the service is given it.
func (c *patroniCluster) address(user, database string) string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, "127.0.0.1:"+strconv.Itoa(n.port))
	}
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable&target_session_attrs=read-write", user, dbPassword, strings.Join(hosts, ","), database)
}

// takesWrites reports whether the node's server is a primary.
func (n *node) takesWrites() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, n.address("postgres", "postgres"))
	if err != nil {
		return false
	}
	defer c.Close(ctx)
	standby := true
	return c.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby) == nil && !standby
}

// leader waits for a node other than not to take writes.
func (c *patroniCluster) leader(t *testing.T, not *node, within time.Duration) *node {
	t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, n := range c.nodes {
			if n != not && n.takesWrites() {
				return n
			}
		}
	}
	t.Fatalf("a new leader: got none within %v, want one", within)
	return nil
}

// whole waits until every node leads or streams from the leader, and one of
// them is the synchronous standby. Patroni calls a node a replica before it
// streams, and may yet find that it has to be rewound.
func (c *patroniCluster) whole(t *testing.T) {
	t.Helper()
	client := &http.Client{Timeout: 2 * time.Second}
	is := func(n *node, what string) bool {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", n.rest, what))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	pgtest.Eventually(t, 2*time.Minute, "the cluster being whole", func() bool {
		leaders, replicas, synchronous := 0, 0, 0
		for _, n := range c.nodes {
			switch {
			case is(n, "primary"):
				leaders++
				replicas = n.streams()
			case is(n, "synchronous"):
				synchronous++
			}
		}
		return leaders == 1 && replicas == len(c.nodes)-1 && synchronous == 1
	})
}

// streams returns how many standbys stream from the node's server.
func (n *node) streams() (standbys int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, n.address("postgres", "postgres"))
	if err != nil {
		return 0
	}
	defer c.Close(ctx)
	_ = c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'").Scan(&standbys)
	return standbys
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
