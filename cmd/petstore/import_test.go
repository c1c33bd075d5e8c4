package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets/animals"
)

// runImport runs the program here and returns its exit status and its output.
func runImport(t *testing.T, env environment, args ...string) (int, string) {
	t.Helper()
	var said bytes.Buffer
	if env.stderr == nil {
		env.stderr = &said
	}
	env.args = args
	env.stdout = &said
	env.getenv = func(string) string { return "" }
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	return run(ctx, env), said.String()
}

// exported returns all pets of the database.
func exported(t *testing.T, database string) string {
	t.Helper()
	var out, said bytes.Buffer
	env := environment{args: []string{"export", "--store", database}, getenv: func(string) string { return "" }, stdout: &out, stderr: &said}
	if code := run(t.Context(), env); code != 0 {
		t.Fatalf("export: got exit status %d: %s", code, said.String())
	}
	return out.String()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheRealAnimalsComeInAndOutAsTheyAre(t *testing.T) {
	database := "sqlite:" + t.TempDir() + "/pets.db"
	if code, said := runImport(t, environment{}, "import", "--store", database, writeFile(t, "pets.csv", animals.CSV)); code != 0 {
		t.Fatalf("import: got exit status %d: %s", code, said)
	}
	all := exported(t, database)
	want := strings.Builder{}
	for n, line := range strings.Split(strings.TrimSpace(animals.CSV), "\r\n") {
		if n == 0 {
			fmt.Fprintf(&want, "id,%s\n", line)
		} else {
			fmt.Fprintf(&want, "%d,%s\n", n, line)
		}
	}
	if all != want.String() {
		t.Errorf("export: got %d bytes, want the %d of the file with identifiers", len(all), want.Len())
	}
}

// startImport starts an import of 6 MB in a process of its own and returns once
// some of it is in the database's log, but not committed.
func startImport(t *testing.T, path string) (*exec.Cmd, *output) {
	t.Helper()
	file := writeFile(t, "pets.csv", "name,categoryId\n"+strings.Repeat(strings.Repeat("x", 1000)+",1\n", 6_000))
	var said output
	cmd := exec.Command(os.Args[0], "import", "--store", "sqlite:"+path, file)
	cmd.Env = append(os.Environ(), runAgain+"=1")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may be gone already
	// Every row is checked first, which the race detector makes slow.
	for end := time.Now().Add(4 * giveUp); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 1<<20 {
			return cmd, &said
		}
		if time.Now().After(end) {
			t.Fatalf("the import writes nothing: %s", said.String())
		}
	}
}

func TestAnImportThatIsKilledOrInterruptedLeavesTheStoreAsItWas(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			path := t.TempDir() + "/pets.db"
			first := writeFile(t, "first.csv", "name,categoryId\nFrank,1\nKitty,2\n")
			if code, said := runImport(t, environment{}, "import", "--store", "sqlite:"+path, first); code != 0 {
				t.Fatalf("import: got exit status %d: %s", code, said)
			}
			before := exported(t, "sqlite:"+path)

			cmd, said := startImport(t, path)
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its state tells
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			switch {
			case signal == syscall.SIGKILL && status.Signal() != syscall.SIGKILL:
				t.Errorf("exit: got %v, want the process killed: %s", cmd.ProcessState, said.String())
			case signal != syscall.SIGKILL && (status.ExitStatus() != 128+int(signal) || !strings.HasSuffix(said.String(), "petstore: interrupted; nothing was imported\n")):
				t.Errorf("exit: got %v and %q, want status %d and what came of it", cmd.ProcessState, said.String(), 128+int(signal))
			}
			if after := exported(t, "sqlite:"+path); after != before {
				t.Errorf("afterwards: got %d bytes of pets, want the %d from before", len(after), len(before))
			}
			if code, said := runImport(t, environment{}, "import", "--store", "sqlite:"+path, first); code != 0 {
				t.Errorf("another import: got exit status %d: %s", code, said)
			}
			if after := exported(t, "sqlite:"+path); after != before+"3,Frank,1,available\n4,Kitty,2,available\n" {
				t.Errorf("after another import: got %q, want two pets more", after)
			}
		})
	}
}

// onWrite does something at the first write.
type onWrite struct {
	output
	do func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return w.output.Write(p)
}

// The row that is left out has the program say so between its two readings.
func TestAFileThatChangesWhileItIsReadIsNotImported(t *testing.T) {
	const rows = "name,categoryId\nFrank,1\nKitty,x\nLuke,1\n"
	for what, changed := range map[string]string{
		"a row more":     rows + "Lucy,1\n",
		"a row less":     "name,categoryId\nFrank,1\nKitty,x\n",
		"another name":   strings.Replace(rows, "Luke", "Lucy", 1),
		"another header": strings.Replace(rows, "name", "nome", 1),
		"a row mended":   strings.Replace(rows, "x", "2", 1),
	} {
		path := writeFile(t, "pets.csv", rows)
		database := "sqlite:" + t.TempDir() + "/pets.db"
		stderr := &onWrite{do: func() {
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Error(err)
			}
		}}
		code, _ := runImport(t, environment{stderr: stderr}, "import", "--keep-good", "--store", database, path)
		if said := stderr.String(); code != 1 || !strings.HasSuffix(said, "; nothing was imported\n") {
			t.Errorf("%s: got exit status %d and %q, want 1 and why", what, code, said)
		}
		if got := exported(t, database); got != "id,name,categoryId,status\n" {
			t.Errorf("%s: got %q stored, want nothing", what, got)
		}
	}
}

func TestOfStandardInputNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, text := range []string{animals.CSV, "nonsense", ""} {
		database := "sqlite:" + t.TempDir() + "/pets.db"
		code, said := runImport(t, environment{stdin: strings.NewReader(text)}, "import", "--store", database, "-")
		if good := text == animals.CSV; (code == 0) != good || !good && !strings.Contains(said, "standard input") {
			t.Errorf("import: got exit status %d: %s", code, said)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("temporary files: got %v (%v), want none", entries, err)
	}
}

// A pipe without a writer must not keep the program.
func TestAnImportThatWaitsForStandardInputCanBeInterrupted(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close() // which ends the reading that is left behind
	ctx, cancel := context.WithCancel(t.Context())
	waiting := &onRead{from: reader, do: cancel}
	var said bytes.Buffer
	env := environment{args: []string{"import", "--store", "sqlite:" + t.TempDir() + "/pets.db", "-"}, getenv: func(string) string { return "" }, stdin: waiting, stdout: &said, stderr: &said}
	if code := run(ctx, env); code != 1 || said.String() != "petstore: interrupted; nothing was imported\n" {
		t.Errorf("got exit status %d and %q, want 1 and one sentence", code, said.String())
	}
}

// onRead does something before it reads.
type onRead struct {
	from *os.File
	do   func()
}

func (r *onRead) Read(p []byte) (int, error) {
	r.do()
	return r.from.Read(p)
}
