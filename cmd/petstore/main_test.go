package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"

	"example.com/petstore/engine/keys"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
)

// TestMain lets the test binary run as petstore, for scripts and for tests that
// need a process. It ends by itself, so no test waits for a server that should have failed.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){service.Name: func() {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		version, commit = "v1", "c1"
		main()
	}})
}

// TestScripts runs testdata/script on each kind of store. The name of the kind is a condition in
// scripts, which have these commands beside testscript's own:
//
//	exits STATUS COMMAND...        run a command that must exit with STATUS
//	capture NAME FILE REGEXP       set $NAME to the group of REGEXP in a file, or in stdout
//	serve ARGS...                  start a server; set $URL and $ADDR
//	shutdown                       stop it with SIGTERM; its output is in serve.out and serve.err
//	! shutdown                     wait until it fails by itself
//	http STATUS METHOD PATH        send a request with $KEY, if set; the response goes to stdout
//	certify CERTIFICATE KEY        write a certificate and its private key
func TestScripts(t *testing.T) {
	for kind, start := range program.Stores {
		t.Run(kind, func(t *testing.T) {
			newAddress := start(t)
			testscript.Run(t, testscript.Params{
				Dir: "testdata/script",
				Setup: func(env *testscript.Env) error {
					store := newAddress()
					env.Vars = append(env.Vars, "STORE="+store, "PETSTORE_STORE="+store, "EMPTY="+newAddress(),
						"LIST="+example.ListPath(), "PET_ID="+example.ID)
					env.Values["server"] = new(process)
					return nil
				},
				Condition: func(name string) (bool, error) { return name == kind, nil },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": exits, "capture": capture, "serve": startServer, "shutdown": shutdown, "http": request, "certify": certify,
				},
			})
		})
	}
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

// process is a server that a script started.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed at its end
}

var servingLine = regexp.MustCompile(`"msg":"serving","address":"(|https?://([^"/]+))/v1"`)

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	out, log := example.Must(os.Create(ts.MkAbs("serve.out"))), example.Must(os.Create(ts.MkAbs("serve.err")))
	defer out.Close()
	defer log.Close()
	cmd := exec.Command(service.Name, append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, log
	cmd.Env = append(os.Environ(), "GOGC=", keysVariable+"="+ts.Getenv(keysVariable), "PETSTORE_STORE="+ts.Getenv("PETSTORE_STORE"))
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // shutdown checks the exit status
		close(ended)
	}()
	ts.Defer(func() { _ = cmd.Process.Kill(); <-ended })
	*ts.Value("server").(*process) = process{cmd, ended}
	var match []string
	for match == nil {
		select {
		case <-ended:
			ts.Fatalf("the server did not start: %s", ts.ReadFile("serve.err"))
		case <-time.After(10 * time.Millisecond):
			match = servingLine.FindStringSubmatch(ts.ReadFile("serve.err"))
		}
	}
	ts.Setenv("URL", match[1])
	ts.Setenv("ADDR", match[2])
}

func shutdown(ts *testscript.TestScript, fails bool, _ []string) {
	http.DefaultClient.CloseIdleConnections()
	s := ts.Value("server").(*process)
	if !fails {
		ts.Check(s.Process.Signal(syscall.SIGTERM))
	}
	select {
	case <-s.ended:
	case <-time.After(giveUp):
		ts.Fatalf("the server has not ended after %v", giveUp)
	}
	if status := s.ProcessState.ExitCode(); (status != 0) != fails {
		ts.Fatalf("exit status: got %d, want failure: %v", status, fails)
	}
}

func request(ts *testscript.TestScript, _ bool, args []string) {
	body := ""
	if args[1] == http.MethodPost {
		body = example.Body()
	}
	r := example.Must(http.NewRequest(args[1], ts.Getenv("URL")+args[2], strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://localhost:3000")
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	if key := ts.Getenv("KEY"); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	_ = response.Header.Write(ts.Stdout())
	_, err = io.Copy(ts.Stdout(), response.Body)
	ts.Check(err)
	if got := strconv.Itoa(response.StatusCode); got != args[0] {
		ts.Fatalf("status: got %s, want %s", got, args[0])
	}
}

func certify(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewTLSServer(nil) // it has a certificate
	defer s.Close()
	key := example.Must(x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey))
	for i, block := range []pem.Block{{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, {Type: "PRIVATE KEY", Bytes: key}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[i]), pem.EncodeToMemory(&block), 0o600))
	}
}

// wantRun runs a command in this process, with a fixed key, and checks its exit status and a text in its errors.
func wantRun(ctx context.Context, t *testing.T, env environment, args string, status int, want string) {
	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	var stderr strings.Builder
	env.variables = map[string]string{keysVariable: program.Key}
	env.stdout, env.stderr = &server.Filter{Writer: io.Discard}, &server.Filter{Writer: &stderr}
	env.exitAfter = func(time.Duration, int) {}
	assert.Equal(t, status, run(ctx, strings.Fields(args), &env), "exit status of %s: %s", args, &stderr)
	assert.Contains(t, stderr.String(), want, args)
}

// TestLastWord checks the messages of commands that end without a result.
func TestLastWord(t *testing.T) {
	t.Parallel()
	env := new(environment)
	_ = env.store.Set("memory:")
	err := changeKey(t.Context(), env, "created", func(keys.Store) error { return errors.New("broken") })
	assert.Regexp(t, "^broken; petstore keys list --store memory: shows whether", err)
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(server.Interrupted{Signal: syscall.SIGINT})
	wantRun(interrupted, t, environment{}, "health", 130, "petstore: interrupted: ")
	l := httptest.NewUnstartedServer(nil).Listener // nothing accepts
	defer l.Close()
	wantRun(t.Context(), t, environment{}, "health --addr "+l.Addr().String(), 1, "Client.Timeout exceeded")
}
