package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
)

// TestMain lets the test binary run as petstore, for scripts and for tests that
// need a process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){service.Name: main})
}

// TestScripts runs testdata/script on each kind of store. The name of the kind is a condition in
// scripts, which have these commands beside testscript's own:
//
//	exits STATUS COMMAND...        run a command that must exit with STATUS
//	capture NAME FILE REGEXP       set $NAME to the group of REGEXP in a file, or in stdout
//	serve ARGS...                  start a server on $STORE, or with --sandbox; set $URL and $ADDR
//	shutdown                       stop it with SIGTERM; its output is in serve.out and serve.err
//	! shutdown                     wait until it fails by itself
//	http STATUS METHOD PATH        send a request with $KEY, if set; the response goes to stdout
//	certify FILE                   write a certificate and its private key
func TestScripts(t *testing.T) {
	for kind, start := range program.Stores {
		t.Run(kind, func(t *testing.T) { runScripts(t, kind, start(t)) })
	}
}

func runScripts(t *testing.T, kind string, newAddress func() string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("STORE", newAddress())
			env.Setenv("EMPTY", newAddress())
			env.Setenv("LIST", example.ListPath())
			env.Setenv("PETSTORE_STORE", env.Getenv("STORE"))
			env.Values["server"] = new(process)
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == kind, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "serve": startServer, "shutdown": shutdown, "http": request, "certify": certify,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	if err := ts.Exec(args[1], args[2:]...); fmt.Sprint(err) != "exit status "+args[0] {
		ts.Fatalf("got %v, want exit status %s", err, args[0])
	}
}

func capture(ts *testscript.TestScript, _ bool, args []string) {
	match := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(match) < 2 {
		ts.Fatalf("%s: got no match of %s", args[1], args[2])
	}
	ts.Setenv(args[0], match[1])
}

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs("serve.out"))
	ts.Check(err)
	defer out.Close()
	log, err := os.Create(ts.MkAbs("serve.err"))
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	cmd := serverCommand(ctx, ts.Getenv(keysVariable), args)
	cmd.Dir, cmd.Stdout = ts.MkAbs("."), out
	if !slices.Contains(args, "--sandbox") {
		cmd.Env = append(cmd.Env, "PETSTORE_STORE="+ts.Getenv("STORE"))
	}
	s, err := start(cmd, log)
	ts.Check(err)
	go func() {
		_, _ = io.Copy(io.Discard, s.rest)
		_ = s.Wait() // shutdown checks the exit status
		_ = log.Close()
		close(s.ended)
	}()
	ts.Defer(func() { cancel(); <-s.ended })
	*ts.Value("server").(*process) = *s
	ts.Setenv("URL", s.address)
	_, addr, _ := strings.Cut(s.address, "://")
	ts.Setenv("ADDR", addr)
}

func shutdown(ts *testscript.TestScript, fails bool, _ []string) {
	http.DefaultClient.CloseIdleConnections()
	s := ts.Value("server").(*process)
	if !fails {
		ts.Check(s.Process.Signal(syscall.SIGTERM))
	}
	<-s.ended
	if status := s.ProcessState.ExitCode(); (status != 0) != fails {
		ts.Fatalf("exit status: got %d, want failure: %v", status, fails)
	}
}

func request(ts *testscript.TestScript, _ bool, args []string) {
	body := ""
	if args[1] == http.MethodPost {
		body = example.Body()
	}
	response, text, err := send(args[1], ts.Getenv("URL")+args[2], ts.Getenv("KEY"), body)
	ts.Check(err)
	_ = response.Header.Write(ts.Stdout())
	_, _ = io.WriteString(ts.Stdout(), text)
	if got := strconv.Itoa(response.StatusCode); got != args[0] {
		ts.Fatalf("status: got %s, want %s", got, args[0])
	}
}

func certify(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewTLSServer(nil) // it has a certificate
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	ts.Check(err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// TestAdvice checks that the commands in the advice exist.
func TestAdvice(t *testing.T) {
	t.Parallel()
	root := rootCommand(&environment{})
	for about, text := range advice {
		if _, command, found := strings.Cut(text, ": "+service.Name+" "); found {
			if c, _, err := root.Find(strings.Fields(command)[:1]); err != nil || c == root {
				t.Errorf("%v: got the advice %q, want a command of the program", about, text)
			}
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	got, err := parseNetworks("127.0.0.1,10.0.0.0/8,::1")
	want := "[{127.0.0.1 ffffffff} {10.0.0.0 ff000000} {::1 ffffffffffffffffffffffffffffffff}]"
	if fmt.Sprint(got) != want || err != nil {
		t.Errorf("got %v, error %v, want %s", got, err, want)
	}
}

// TestLastWord checks the message of a command that cannot know whether it created a key.
func TestLastWord(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	env := new(environment)
	_ = env.store.Set("memory:")
	err := changeKey(t.Context(), env, db.Options{}, "created", func(keys.Store) error { return broken })
	if want := "broken; petstore keys list --store memory: shows whether"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// testEnvironment returns an environment with a fixed key.
func testEnvironment(stderr io.Writer) *environment {
	return &environment{
		variables: map[string]string{keysVariable: fixedKey},
		stdout:    &printer{Writer: io.Discard}, stderr: &printer{Writer: stderr},
		exitAfter: func(time.Duration, int) {},
	}
}

// runHere runs a command in this process, of root or not, and returns its exit status and
// its errors.
func runHere(ctx context.Context, root bool, args ...string) (status int, stderr string) {
	var out bytes.Buffer
	env := testEnvironment(&out)
	env.root = root
	status = run(ctx, args, env)
	return status, out.String()
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	got, stderr := runHere(ctx, false, "health")
	if got != 130 || !strings.HasPrefix(stderr, "petstore: interrupted: ") {
		t.Errorf("got status %d, %s, want 130, interrupted", got, stderr)
	}
}
