//go:build postgres

package pgtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startAndWait has the test binary start a server, say which, and wait.
const startAndWait = "PETSTORE_TEST_START_AND_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(startAndWait) == "" {
		os.Exit(Main(m))
	}
	s, err := start(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.process.Process.Pid, s.dir)
	select {}
}

func TestAKilledTestBinaryLeavesNoServerBehind(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := exec.Command(program)
	tests.Env = append(os.Environ(), startAndWait+"=yes")
	tests.Stderr = t.Output()
	out, err := tests.StdoutPipe()
	if err == nil {
		err = tests.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	first, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, notNumber := strconv.Atoi(first)
	_ = tests.Process.Kill()
	_ = tests.Wait()
	if err != nil || notNumber != nil {
		t.Fatalf("the tests that are killed say: got %q, want the process and the folder of their server", line)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	Eventually(t, 20*time.Second, "the server ending", func() bool { return !lives(pid) })
}
