package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// The words of conversations, beside the words of testscript itself:
//
//	petstore ARGS...              run the program; ! where it must fail. Its output is for stdout, stderr, cmp
//	exitcode N                    the exit status of the program before
//	type LINE | @FILE             the input of the next program: typed at its terminal ($TERMINAL=yes), or a file
//	capture NAME REGEXP           keep the group of REGEXP in the last program's standard output as $NAME; the server's, where none ran
//	serve ARGS...                 start `petstore serve` on a free port and $STORE (--sandbox: its own); http://$ADDRESS is $SERVER
//	shutdown                      stop it; it must end with 0 and have logged no key
//	log REGEXP                    the server logs or prints it, sooner or later; ! it has not, so far
//	request METHOD PATH ...       send a request, with $KEY unless it is empty, then 'Name: value' headers, a '{…}' body or @FILE
//	status N                      the status of its response
//	header NAME REGEXP            one header of it; ! where it must be absent
//	body JSON | @FILE             its body, compared as JSON or byte for byte
//	problem CODE REGEXP           its Error body
//	create N [STATUS]             add N pets named 1, 2, …
//	walk PATH IDS                 follow the pages from PATH to their end and compare the ids met
//	until N METHOD PATH           ask again and again until the status is N, for 10 seconds at most
var words = map[string]func(c *conversation, ts *testscript.TestScript, neg bool, args []string){
	"petstore": (*conversation).petstore,
	"exitcode": (*conversation).exitcode,
	"type":     (*conversation).typed,
	"capture":  (*conversation).capture,
	"serve":    (*conversation).serve,
	"shutdown": (*conversation).shutdown,
	"log":      (*conversation).log,
	"request":  (*conversation).request,
	"status":   (*conversation).status,
	"header":   (*conversation).header,
	"body":     (*conversation).body,
	"problem":  (*conversation).problem,
	"create":   (*conversation).create,
	"walk":     (*conversation).walk,
	"until":    (*conversation).until,
}

// commands returns the words as testscript wants them.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for name, word := range words {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			word(ts.Value(conversationKey{}).(*conversation), ts, neg, args)
		}
	}
	return all
}

// conversation is the state of one script.
type conversation struct {
	judge  *contracttest.Judge
	env    *testscript.Env
	client http.Client

	code   int    // the last program's
	output string // its standard output
	stdin  string // the input of the next one

	server   *runningProgram
	response *http.Response
	text     []byte // the response's body
}

type conversationKey struct{}

// giveUp bounds every wait of a conversation; it is reached only where
// something hangs.
const giveUp = 30 * time.Second

func (c *conversation) environment(ts *testscript.TestScript, args []string, stdout, stderr io.Writer) environment {
	stdin := c.stdin
	c.stdin = ""
	columns, _ := strconv.Atoi(ts.Getenv("COLUMNS")) // 0 where it is not set
	return environment{
		args:             args,
		getenv:           ts.Getenv,
		stdin:            strings.NewReader(stdin),
		stdout:           stdout,
		stderr:           stderr,
		stderrIsTerminal: ts.Getenv("TERMINAL") == "yes",
		interactive:      ts.Getenv("TERMINAL") == "yes",
		columns:          columns,
	}
}

func (c *conversation) petstore(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c.code = run(ctx, c.environment(ts, args, &stdout, &stderr))
	c.output = stdout.String()
	_, _ = ts.Stdout().Write(stdout.Bytes()) // a buffer of testscript's
	_, _ = ts.Stderr().Write(stderr.Bytes())
	if (c.code != 0) != neg {
		ts.Fatalf("petstore %s: got exit status %d", strings.Join(args, " "), c.code)
	}
	if ctx.Err() != nil {
		ts.Fatalf("petstore %s: got no end, want one", strings.Join(args, " "))
	}
}

func (c *conversation) exitcode(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(c.code); got != args[0] {
		ts.Fatalf("exit status: got %s, want %s", got, args[0])
	}
}

func (c *conversation) typed(ts *testscript.TestScript, _ bool, args []string) {
	if file, ok := strings.CutPrefix(args[0], "@"); ok {
		c.stdin = ts.ReadFile(file)
		return
	}
	c.stdin = strings.Join(args, " ") + "\n"
}

func (c *conversation) capture(ts *testscript.TestScript, _ bool, args []string) {
	from := c.output
	if from == "" && c.server != nil {
		from = c.server.stdout.String()
	}
	match := regexp.MustCompile(args[1]).FindStringSubmatch(from)
	if len(match) < 2 {
		ts.Fatalf("standard output: got %q, want a match of %s", from, args[1])
	}
	ts.Setenv(args[0], match[1])
}

func (c *conversation) serve(ts *testscript.TestScript, _ bool, args []string) {
	if c.server != nil {
		ts.Fatalf("a server runs already: shutdown comes first")
	}
	if line := strings.Join(args, " "); !strings.Contains(line, "--store") && !strings.Contains(line, "--sandbox") {
		args = append([]string{"--store", ts.Getenv("STORE")}, args...)
	}
	c.server = &runningProgram{}
	ctx, cancel := context.WithCancel(context.Background())
	c.server.start(ctx, cancel, c.environment(ts, append([]string{"serve", "--addr", "127.0.0.1:0", "--drain", "0s"}, args...), &c.server.stdout, &c.server.stderr))
	address, err := c.server.address()
	ts.Check(err)
	ts.Setenv("SERVER", strings.TrimSuffix(address, web.BasePath))
	ts.Setenv("ADDRESS", strings.TrimPrefix(ts.Getenv("SERVER"), "http://"))
}

func (c *conversation) shutdown(ts *testscript.TestScript, _ bool, _ []string) {
	if c.server == nil {
		ts.Fatalf("no server runs: serve comes first")
	}
	s := c.server
	c.server = nil
	c.client.CloseIdleConnections()
	ts.Check(s.end(ts.Getenv("KEY")))
}

// end stops the programs that the script has left running.
func (c *conversation) end() {
	if c.server == nil {
		return
	}
	c.client.CloseIdleConnections()
	if err := c.server.end(c.env.Getenv("KEY")); err != nil {
		c.env.T().Fatal(err)
	}
}

func (c *conversation) log(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	for end := time.Now().Add(giveUp); ; time.Sleep(time.Millisecond) {
		text := c.server.stdout.String() + c.server.stderr.String()
		found := pattern.MatchString(text)
		if found != neg {
			return
		}
		if neg || time.Now().After(end) {
			ts.Fatalf("what the server has said: got %s, want a match of %s: %t", text, args[0], !neg)
		}
	}
}

func (c *conversation) request(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(c.send(ts, args))
}

// send sends the request of the word request.
func (c *conversation) send(ts *testscript.TestScript, args []string) error {
	target := args[1]
	if strings.HasPrefix(target, "/") {
		target = ts.Getenv("SERVER") + target
	}
	header, body := http.Header{}, ""
	for _, arg := range args[2:] {
		if file, ok := strings.CutPrefix(arg, "@"); ok {
			arg = ts.ReadFile(file)
			header.Set("Content-Type", "application/json")
			body = arg
		} else if strings.HasPrefix(arg, "{") {
			header.Set("Content-Type", "application/json")
			body = arg
		} else if name, value, ok := strings.Cut(arg, ":"); ok {
			header.Set(name, strings.TrimSpace(value))
		} else {
			return fmt.Errorf("%q is no header, no body and no @FILE", arg)
		}
	}
	r, err := http.NewRequest(args[0], target, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = header
	if key := ts.Getenv("KEY"); key != "" && header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+key)
	}
	c.client.Timeout = giveUp
	if c.response, err = c.client.Do(r); err != nil {
		return err
	}
	defer c.response.Body.Close()
	if c.text, err = io.ReadAll(c.response.Body); err != nil {
		return err
	}
	ts.Logf("%d %s", c.response.StatusCode, c.text)
	return c.judge.Check(r, c.response, c.text)
}

func (c *conversation) status(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(c.response.StatusCode); got != args[0] {
		ts.Fatalf("status: got %s %s, want %s", got, c.text, args[0])
	}
}

func (c *conversation) header(ts *testscript.TestScript, neg bool, args []string) {
	values := c.response.Header.Values(args[0])
	if neg {
		if len(values) > 0 {
			ts.Fatalf("%s: got %q, want none", args[0], values)
		}
		return
	}
	if len(values) != 1 || !regexp.MustCompile(args[1]).MatchString(values[0]) {
		ts.Fatalf("%s: got %q, want one that matches %s", args[0], values, args[1])
	}
}

func (c *conversation) body(ts *testscript.TestScript, _ bool, args []string) {
	if file, ok := strings.CutPrefix(args[0], "@"); ok {
		want, err := os.ReadFile(ts.MkAbs(file))
		ts.Check(err)
		if !bytes.Equal(c.text, want) {
			ts.Fatalf("body: got %q, want the bytes of %s", c.text, file)
		}
		return
	}
	var got, want any
	ts.Check(decode(c.text, &got))
	ts.Check(decode([]byte(args[0]), &want))
	if !reflect.DeepEqual(got, want) {
		ts.Fatalf("body: got %s, want %s", c.text, args[0])
	}
}

// decode reads JSON and keeps its numbers whole.
func decode(data []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(value)
}

func (c *conversation) problem(ts *testscript.TestScript, _ bool, args []string) {
	var e struct{ Code, Message string }
	ts.Check(json.Unmarshal(c.text, &e))
	if e.Code != args[0] || !regexp.MustCompile(args[1]).MatchString(e.Message) {
		ts.Fatalf("error: got %s, %q, want %s, %s", e.Code, e.Message, args[0], args[1])
	}
}

func (c *conversation) create(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := "available"
	if len(args) > 1 {
		status = args[1]
	}
	for i := range n {
		ts.Check(c.send(ts, []string{"POST", "/v1/pets", fmt.Sprintf(`{"name":"%d","categoryId":1,"status":%q}`, i+1, status)}))
		c.status(ts, false, []string{"201"})
	}
}

func (c *conversation) walk(ts *testscript.TestScript, _ bool, args []string) {
	var ids []string
	for next := args[0]; next != ""; {
		ts.Check(c.send(ts, []string{"GET", next}))
		c.status(ts, false, []string{"200"})
		var page []struct{ ID json.Number }
		ts.Check(decode(c.text, &page))
		for _, p := range page {
			ids = append(ids, p.ID.String())
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(c.response.Header.Get("Link"), "<"), ">")
	}
	if got := strings.Join(ids, ","); got != args[1] {
		ts.Fatalf("ids of the walk: got %s, want %s", got, args[1])
	}
}

func (c *conversation) until(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ts.Check(c.send(ts, args[1:]))
		if strconv.Itoa(c.response.StatusCode) == args[0] {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("status: still got %d, want %s by now", c.response.StatusCode, args[0])
		}
	}
}
