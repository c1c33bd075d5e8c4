//go:build thirdparty

package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// judged is the result of Schemathesis.
type judged struct {
	passed bool
	cases  int
	output string
}

// schemathesis lets it make requests to the service at base from the document,
// examples for each operation and phase. It says on standard output as name
// what it has done.
func schemathesis(t *testing.T, name, base string, examples, seed int, phases string) judged {
	t.Helper()
	config, err := filepath.Abs("schemathesis.toml")
	if err != nil {
		t.Fatal(err)
	}
	openapi, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	// Its script names the folder it was installed in, which may have been moved.
	cmd := exec.Command(installed(t, "venv/bin/python"), "-m", "schemathesis.cli", "--no-color", "--config-file", config, "run", openapi,
		"--url", base, "--checks", "all", "--phases", phases, "--max-examples", strconv.Itoa(examples), "--seed", strconv.Itoa(seed))
	cmd.Dir = t.TempDir() // it leaves notes for its next run
	cmd.Env = append(os.Environ(), "PETSTORE_API_KEYS="+key, "PYTHONPATH="+filepath.Dir(config), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&all, lines.Text())
		if strings.Contains(lines.Text(), "(in ") && name != "" {
			fmt.Printf("%s: %s\n", name, strings.TrimSpace(lines.Text()))
		}
	}
	j := judged{passed: cmd.Wait() == nil, output: all.String()}
	if match := regexp.MustCompile(`([0-9]+) generated`).FindStringSubmatch(j.output); match != nil {
		j.cases, _ = strconv.Atoi(match[1])
	}
	return j
}

const everyPhase = "examples,coverage,fuzzing,stateful"

func TestSchemathesisFindsNothing(t *testing.T) {
	random := rand.IntN(1 << 31)
	if given := os.Getenv("SEED"); given != "" {
		var err error
		if random, err = strconv.Atoi(given); err != nil {
			t.Fatalf("SEED: got %q, want a number", given)
		}
	}
	fmt.Printf("the random seed is %d; make conformance SEED=%d does the same again\n", random, random)
	var cases atomic.Int64
	t.Run("on", func(t *testing.T) {
		for _, run := range []struct {
			store          string
			seed, examples int
		}{{"memory:", 1, 200}, {"memory:", random, 200}, {"sqlite:", random, 50}} {
			name := fmt.Sprintf("seed %d, %s", run.seed, strings.TrimSuffix(run.store, ":"))
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if run.store == "sqlite:" {
					run.store += filepath.Join(t.TempDir(), "petstore.db")
				}
				began := time.Now()
				j := schemathesis(t, name, serve(t, run.store), run.examples, run.seed, everyPhase)
				if !j.passed {
					t.Errorf("Schemathesis on the service: got failures, want none\n%s", j.output)
				}
				if !regexp.MustCompile(`API Links: +[1-9][0-9]* covered / [0-9]+ selected / [1-9]`).MatchString(j.output) {
					t.Errorf("links that Schemathesis followed: got none, want those of the document\n%s", j.output)
				}
				fmt.Printf("%s: %d cases in %.0f s\n", name, j.cases, time.Since(began).Seconds())
				cases.Add(int64(j.cases))
			})
		}
	})
	if got := cases.Load(); got < 5000 {
		t.Errorf("cases: got %d, want thousands", got)
	}
}

// TestSchemathesisFindsAFaultyService shows that its checks are in force.
func TestSchemathesisFindsAFaultyService(t *testing.T) {
	service := serve(t, "memory:")
	nothing := func(*http.Request) {}
	for name, fault := range map[string]struct {
		ask      func(*http.Request)
		response func(*http.Response)
		want     string
	}{
		"an id that is text": {nothing, func(r *http.Response) {
			if r.StatusCode == http.StatusCreated {
				say(r, `{"id":"1","name":"Frank","categoryId":1}`)
			}
		}, "Response violates schema"},
		"a status that is not documented": {nothing, func(r *http.Response) {
			if r.StatusCode == http.StatusOK {
				r.StatusCode = http.StatusPartialContent
			}
		}, "Undocumented status code"},
		"a header that is no number": {nothing, func(r *http.Response) {
			r.Header.Set("X-Request-Id", "not one, for it has spaces")
		}, "Response header"},
		"responses without a key": {func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+key)
		}, func(*http.Response) {}, "API accepts requests without authentication"},
		"bodies that are not checked": {nothing, func(r *http.Response) {
			if r.StatusCode == http.StatusBadRequest && r.Request.Method == http.MethodPost {
				r.StatusCode = http.StatusCreated
				say(r, `{"id":1,"name":"Frank","categoryId":1}`)
			}
		}, "Schema-violating request accepted"},
		"bodies that are refused": {nothing, func(r *http.Response) {
			if r.StatusCode == http.StatusCreated {
				r.StatusCode = http.StatusBadRequest
				say(r, `{"code":"invalid_body","message":"no","status":400}`)
			}
		}, "Schema-valid request rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := schemathesis(t, "", falsify(t, service, fault.ask, fault.response), 5, 1, "examples,coverage")
			if j.passed || !strings.Contains(j.output, fault.want) {
				t.Errorf("Schemathesis on a faulty service: got passed %t, want %q\n%s", j.passed, fault.want, j.output)
			}
		})
	}
}
