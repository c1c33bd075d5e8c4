//go:build unix

package upkeep_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

// Some tests need other processes: to be killed, or to be another user's. Those are
// this test binary again. childEnv says which part of children it plays, and its
// arguments are file names.
const childEnv = "PETSTORE_TEST_CHILD"

var children = map[string]func(ctx context.Context, names []string) error{
	"create a thousand a second": createAThousandASecond,
	"create and die":             createAndDie,
	"restore and die":            restoreAndDie,
	"restore as another user":    restoreAsNobody,
	"back up as another user":    backUpAsNobody,
}

func TestMain(m *testing.M) {
	if play, ok := children[os.Getenv(childEnv)]; ok {
		if err := play(context.Background(), os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, part string, names ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, names...)
	// The race detector's runtime waits a second at the end of a process, unless told.
	cmd.Env = append(os.Environ(), childEnv+"="+part, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = t.Output()
	return cmd
}

// said returns what a child prints until its end, whatever that is.
func said(t *testing.T, part string, names ...string) string {
	t.Helper()
	out, _ := child(t, part, names...).Output()
	return strings.TrimSpace(string(out))
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// createAndDie leaves a store whose log is not in its file.
func createAndDie(ctx context.Context, names []string) error {
	s, err := sqlite.Open(ctx, names[0], sqlite.Options{})
	if err != nil {
		return err
	}
	if _, err := s.CreatePet(ctx, rex); err != nil {
		return err
	}
	die()
	return nil
}

func restoreAndDie(ctx context.Context, names []string) error {
	_, err := upkeep.Restore(ctx, names[0], names[1], true, func(float64) { die() })
	return err
}

// becomeNobody has root be a user who owns nothing.
func becomeNobody() error {
	if os.Getuid() != 0 {
		return nil
	}
	return syscall.Setuid(nobody)
}

const nobody = 65534

func restoreAsNobody(ctx context.Context, names []string) error {
	if err := becomeNobody(); err != nil {
		return err
	}
	_, err := upkeep.Restore(ctx, names[0], names[1], true, func(float64) {})
	return err
}

func backUpAsNobody(ctx context.Context, names []string) error {
	if err := becomeNobody(); err != nil {
		return err
	}
	report, err := upkeep.Backup(ctx, names[0], names[1], false)
	if err == nil {
		fmt.Println(report.Animals, "animals")
	}
	return err
}

// createAThousandASecond commits each pet by itself, at a pace that leaves the
// database small: a commit every millisecond keeps a backup that begins anew after
// each from ending.
func createAThousandASecond(ctx context.Context, names []string) error {
	s, err := sqlite.Open(ctx, names[0], sqlite.Options{})
	if err != nil {
		return err
	}
	for range time.Tick(time.Millisecond) {
		pet, err := s.CreatePet(ctx, rex)
		if err != nil {
			return err
		}
		fmt.Println(pet.ID)
	}
	return nil
}
