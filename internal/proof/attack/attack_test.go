//go:build attack

// Package attack measures the memory of the program and of its sockets under attacks that
// are cheap for the attacker, and how another client fares meanwhile. `make attack` runs it.
package attack

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
)

const (
	podMemory  = 256 << 20       // the limit in deploy/, which counts sockets too
	attackTime = 9 * time.Second // how long an attack lasts
	attacker   = "the-key-of-the-attacker"
)

var (
	path     = example.ListPath()
	insecure = &tls.Config{InsecureSkipVerify: true}
)

// attack describes what each of its connections sends and reads.
type attack struct {
	connections int
	text        string
	read        int  // how many bytes it reads at first
	slowly      bool // it reads 10 KiB/s after that, else nothing
}

func TestAttack(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "160MiB") // as in deploy/
	t.Setenv("PETSTORE_API_KEYS", program.Key+","+attacker)
	certificate := exec.CommandContext(t.Context(), "sh", "-c",
		`go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -ecdsa-curve P256 -host localhost`)
	certificate.Dir = t.TempDir()
	out, err := certificate.CombinedOutput()
	require.NoError(t, err, "%s", out)
	nested := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	small := `{"unknown":` + strings.Repeat("[", 90) + strings.Repeat(`{"":0},`, service.MaxBody/7-50) + "0" + strings.Repeat("]", 90) + "}"
	for name, a := range map[string]attack{
		"unfinished headers": {
			connections: 4000, slowly: true,
			text: "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 33_000),
		},
		"slow bodies": {
			connections: 4000, slowly: true,
			text: header("POST", path, service.MaxBody) + strings.TrimRight(example.BodyNamed(strings.Repeat("x", 60_000)), "}"),
		},
		"headers without a body":     {connections: 540, text: header("POST", path, 1), slowly: true},
		"bodies of small objects":    {connections: 380, text: strings.Repeat(header("POST", path, len(small))+small, 40), slowly: true},
		"nested bodies":              {connections: 1000, text: strings.Repeat(header("POST", path, len(nested))+nested, 20), slowly: true},
		"slow readers of pages":      {connections: 1000, text: strings.Repeat(header("GET", path+"?limit=100", 0), 20), slowly: true},
		"pages that nobody reads":    {connections: 540, text: strings.Repeat(header("GET", path, 0), 1200)},
		"a script that nobody reads": {connections: 300, text: strings.Repeat(header("GET", "/docs/scalar.js", 0), 12), read: 9 << 20},
	} {
		t.Run(name, func(t *testing.T) { measure(t, a, certificate.Dir) })
	}
}

// measure starts the program, attacks it, and meanwhile sends requests with another key,
// none of which the service may refuse.
func measure(t *testing.T, a attack, certificates string) {
	addr := program.FreeAddress(t)
	// The attack ends with the program, which needs most memory with TLS.
	p := program.Serve(t, addr, "--store", "memory:",
		"--tls-cert", certificates+"/cert.pem", "--tls-key", certificates+"/key.pem")
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: insecure,
		MaxConnsPerHost: 1, // a second one might have to wait until some of the attacker's close
	}}
	var slowest time.Duration
	send := func(want int, method, query, body string) {
		begin := time.Now()
		status, text, err := program.Send(t.Context(), c, method, "https://"+addr+path+query, body)
		slowest = max(slowest, time.Since(begin))
		assert.NoError(t, err, "%s with another key", method)
		assert.Equal(t, want, status, "%s with another key: %.200s", method, text)
	}
	for _, length := range []int{32_000, 65_000} { // they fill a page; a response has six bytes for each <
		send(http.StatusCreated, "POST", "", example.BodyNamed(strings.Repeat("<", length)))
	}
	for range a.connections {
		go func() {
			for a.attack(addr) == nil { // again if the server closes the connection
			}
		}()
	}
	var held uint64
	for end := time.Now().Add(attackTime); time.Now().Before(end); {
		send(http.StatusOK, "GET", fmt.Sprint("?after=", 1<<40), "") // there is none
		send(http.StatusCreated, "POST", "", example.Body())
		held = max(held, queued(addr))
	}
	peak := example.Must(example.Must(procfs.NewProc(p.Pid)).NewStatus()).VmHWM
	t.Logf("%s: memory %d MiB, sockets %d MiB, slowest response of another key %v", t.Name(), peak>>20, held>>20, slowest.Round(time.Millisecond))
	assert.LessOrEqual(t, peak+held, uint64(podMemory), "bytes")
}

// queued returns the bytes that the kernel holds for the connections that a server has accepted.
func queued(addr string) (n uint64) {
	_, port, _ := net.SplitHostPort(addr)
	for line := range strings.Lines(string(example.Must(os.ReadFile("/proc/net/tcp")))) {
		var localPort, sent, received uint64
		fields := strings.Fields(line)
		_, local, _ := strings.Cut(fields[1], ":")
		_, err := fmt.Sscanf(local+" "+fields[4], "%x %x:%x", &localPort, &sent, &received)
		if err == nil && fmt.Sprint(localPort) == port && fields[9] != "0" { // the inode, 0 before it is accepted
			n += sent + received
		}
	}
	return n
}

// attack uses one connection until the server ends it. It returns an error if the
// server accepts no more.
func (a attack) attack(addr string) error {
	tcp, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer tcp.Close()
	conn := tls.Client(tcp, insecure)
	go func() { _, _ = io.WriteString(conn, a.text) }()
	_, _ = io.CopyN(io.Discard, conn, int64(a.read))
	if !a.slowly {
		_ = tcp.(*net.TCPConn).SetReadBuffer(1) // the minimum, so that the server keeps what is not read
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
