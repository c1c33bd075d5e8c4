//go:build attack

// Package attack measures the memory of the program and of its sockets under attacks that
// are cheap for the attacker, and how another client fares meanwhile. `make attack` runs it.
package attack

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
)

const (
	podMemory  = 256 << 20        // the limit in deploy/kubernetes, which counts sockets too
	patience   = 5 * time.Second  // how long a client with another key may wait for a response
	attackTime = 9 * time.Second  // how long an attack lasts
	startTime  = 20 * time.Second // how long the program may take to answer
	attacker   = "the-key-of-the-attacker"
)

var path = example.Base() + "/pets"

// attack is what each of some connections sends and reads.
type attack struct {
	connections int
	tls         bool
	text        string
	read        int  // how much it reads at once
	slowly      bool // it reads 10 KiB/s after that, else nothing
	renewed     bool // it connects again when the server closes the connection
}

func TestAttack(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "160MiB") // as in deploy/kubernetes
	t.Setenv("PETSTORE_API_KEYS", program.Key+","+attacker)
	pair := certificate(t)
	nested := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for name, a := range map[string]attack{
		"unfinished headers": {
			connections: 4000, tls: true, slowly: true,
			text: "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 33_000),
		},
		"slow bodies": {
			connections: 4000, slowly: true,
			text: header("POST", path, 65_536) + `{"name":"` + strings.Repeat("x", 60_000),
		},
		"headers without a body":     {connections: 540, text: header("POST", path, 1), slowly: true, renewed: true},
		"nested bodies":              {connections: 1000, tls: true, text: strings.Repeat(header("POST", path, len(nested))+nested, 20), slowly: true},
		"slow readers of pages":      {connections: 1000, text: strings.Repeat(header("GET", path+"?limit=100", 0), 20), slowly: true},
		"slow readers of one pet":    {connections: 1000, text: strings.Repeat(header("GET", path+"/2", 0), 20), slowly: true},
		"pages that nobody reads":    {connections: 540, text: strings.Repeat(header("GET", path, 0), 1200)},
		"a script that nobody reads": {connections: 300, text: strings.Repeat(header("GET", "/docs/scalar.js", 0), 12), read: 9 << 20},
	} {
		t.Run(name, func(t *testing.T) { measure(t, a, pair) })
	}
}

// measure starts the program, attacks it, and meanwhile sends requests with another key.
func measure(t *testing.T, a attack, pair string) {
	addr := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), "../../../.bin/petstore", "serve", "--store", "memory:", "--addr", addr)
	url := "http://" + addr + path
	if a.tls {
		cmd.Args = append(cmd.Args, "--tls-cert", pair, "--tls-key", pair)
		url = "https://" + addr + path
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // which ends the attack
		_ = cmd.Wait()
	}()
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		MaxConnsPerHost: 1, // which it keeps; another might have to wait until the attacker's close
	}}
	for begin := time.Now(); ask(t, &client, "GET", url, "") != 200; time.Sleep(100 * time.Millisecond) { // until it has started
		if time.Since(begin) > startTime {
			t.Fatal("the program does not answer")
		}
	}
	for _, length := range []int{32_000, 65_000} { // one page; in JSON a character takes six bytes
		body := example.Body(fmt.Sprintf(`"name":%q`, strings.Repeat("<", length)))
		if got := ask(t, &client, "POST", url, body); got != 201 {
			t.Fatalf("a large pet: got status %d, want 201", got)
		}
	}
	for range a.connections {
		go func() {
			for a.attack(addr) == nil && a.renewed {
			}
		}()
	}
	slowest, held := time.Duration(0), int64(0)
	for end := time.Now().Add(attackTime); time.Now().Before(end); {
		begin := time.Now()
		if got := ask(t, &client, "GET", url+"?after=2", ""); got != 200 {
			t.Errorf("another key: got status %d, want 200", got)
		}
		slowest = max(slowest, time.Since(begin))
		held = max(held, queued(t, addr))
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak := number(t, string(status), "VmHWM:") << 10
	t.Logf("peak of memory: %d MiB, of sockets: %d MiB; slowest response: %v", peak>>20, held>>20, slowest.Round(time.Millisecond))
	if peak+held > podMemory || slowest > patience {
		t.Errorf("got %d bytes and a response after %v, want at most %d and %v", peak+held, slowest, podMemory, patience)
	}
}

// queued returns the bytes that the kernel holds for the connections that a server has
// accepted.
func queued(t *testing.T, addr string) (n int64) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	for line := range strings.Lines(string(table)) {
		var localPort, sent, received int64
		fields := strings.Fields(line)
		_, local, _ := strings.Cut(fields[1], ":")
		_, err := fmt.Sscanf(local+" "+fields[4], "%x %x:%x", &localPort, &sent, &received)
		if err == nil && fmt.Sprint(localPort) == port && fields[9] != "0" { // the inode, 0 before it is accepted
			n += sent + received
		}
	}
	return n
}

// number returns the number that follows a name in a text.
func number(t *testing.T, text, name string) (n int64) {
	t.Helper()
	_, rest, _ := strings.Cut(text, name)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask sends a request with a key that is not the attacker's. It returns the status, 0 if
// there is no response.
func ask(t *testing.T, client *http.Client, method, url, body string) (status int) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+program.Key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// attack uses one connection until the server ends it. It returns an error if the
// server accepts no more.
func (a attack) attack(addr string) error {
	tcp, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer tcp.Close()
	conn := tcp
	if a.tls {
		conn = tls.Client(tcp, &tls.Config{InsecureSkipVerify: true})
	}
	go func() { _, _ = io.WriteString(conn, a.text) }()
	_, _ = io.CopyN(io.Discard, conn, int64(a.read))
	if !a.slowly {
		_ = tcp.(*net.TCPConn).SetReadBuffer(1) // the least, so that what is not read stays with the server
		_, _ = io.CopyN(io.Discard, conn, int64(min(a.read, 1<<20)))
		time.Sleep(attackTime)
		return nil
	}
	for buffer := make([]byte, 1024); ; time.Sleep(100 * time.Millisecond) { // deliberately slow
		if _, err := conn.Read(buffer); err != nil {
			return nil
		}
	}
}

// header returns the header of a request with the attacker's key.
func header(method, target string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		method, target, attacker, length)
}

// certificate writes a self-signed certificate and its key to a file.
func certificate(t *testing.T) (file string) {
	s := httptest.NewTLSServer(nil) // it has a certificate
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	file = filepath.Join(t.TempDir(), "pair.pem")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}
