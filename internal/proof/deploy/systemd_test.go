//go:build deploy

package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheUnitsAreCleanAndHardened asks systemd about the units. It starts none:
// the machine that runs the checks need not run systemd.
func TestTheUnitsAreCleanAndHardened(t *testing.T) {
	dir := t.TempDir()
	units := []string{"petstore.service", "petstore-backup.service", "petstore-backup-failed.service", "petstore-backup.timer"}
	for _, unit := range units {
		// The program stands elsewhere until the package is installed.
		write(t, filepath.Join(dir, unit), strings.ReplaceAll(read(t, "deploy", "systemd", unit), "/usr/bin/petstore ", petstore(t)+" "))
	}
	t.Setenv("SYSTEMD_UNIT_PATH", dir+":")
	for _, unit := range units {
		if !strings.Contains(read(t, "deploy", "package", "nfpm.yaml"), "/usr/lib/systemd/system/"+unit+"\n") {
			t.Errorf("%s: got no such file in the packages, want it there", unit)
		}
		if out := command(t, "systemd-analyze", "verify", filepath.Join(dir, unit)); out != "" {
			t.Errorf("systemd-analyze verify %s: got %s, want nothing", unit, out)
		}
	}
	for _, unit := range []string{"petstore.service", "petstore-backup.service"} {
		// The threshold is ten times the exposure.
		command(t, "systemd-analyze", "security", "--offline=true", "--threshold=19", filepath.Join(dir, unit))
	}
	command(t, "systemd-analyze", "calendar", "daily")
	failed := regexp.MustCompile(`(?m)^OnFailure=(.+)$`).FindStringSubmatch(read(t, "deploy", "systemd", "petstore-backup.service"))
	if len(failed) != 2 || !slices.Contains(units, failed[1]) {
		t.Errorf("OnFailure of the backup: got %q, want one of %v", failed, units)
	}
}

// TestTheCommandOfEachUnitRuns runs the commands of the units as they stand
// there, with the folder of the store moved.
func TestTheCommandOfEachUnitRuns(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	moved := func(unit string) (env []string, commands []string) {
		text := strings.NewReplacer("/var/lib/petstore", state, "/usr/bin/petstore", petstore(t), "%%", "%", "%d", state).Replace(read(t, "deploy", "systemd", unit))
		for _, m := range regexp.MustCompile(`(?m)^Environment=(.+)$`).FindAllStringSubmatch(text, -1) {
			env = append(env, m[1])
		}
		for _, m := range regexp.MustCompile(`(?m)^Exec\w+=(.+)$`).FindAllStringSubmatch(text, -1) {
			commands = append(commands, m[1])
		}
		return env, commands
	}
	if err := os.Mkdir(filepath.Join(state, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	command(t, petstore(t), "keys", "create", "first", "--store", "sqlite:"+state+"/petstore.db")

	env, commands := moved("petstore.service")
	server := start(t, append(env, "PETSTORE_ADDR=127.0.0.1:0"), "sh", "-c", "exec "+commands[0])
	server.eventually(t, "the service", func() bool { return strings.Contains(server.output(), `"msg":"serving"`) })

	env, commands = moved("petstore-backup.service")
	for _, c := range commands {
		backup := start(t, env, "sh", "-c", "set -f; "+c) // systemd expands no pattern
		<-backup.exited
		if code := backup.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s: got %d, want 0: %s", c, code, backup.output())
		}
	}
	if files, err := filepath.Glob(state + "/backups/petstore-*.db"); err != nil || len(files) != 1 {
		t.Errorf("backups: got %v (%v), want one", files, err)
	}
	server.stop(t)
}
