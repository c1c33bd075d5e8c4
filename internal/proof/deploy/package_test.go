//go:build deploy

package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestPackage builds the Debian package, boots systemd on a temporary overlay of
// this system, and runs testdata/walk*.sh there, which run the commands of the pages,
// from installation to removal.
func TestPackage(t *testing.T) {
	t.Parallel()
	walk := t.TempDir()
	run(t, nil, "make", "package")
	version := run(t, nil, "sh", "deploy/package/version.sh")
	built := root(t, ".bin", "dist", "petstore_"+version+"_"+runtime.GOARCH+".deb")
	run(t, nil, "sh", "-c", "mkdir -p "+walk+"/.bin/dist "+walk+"/deploy; cp "+built+" "+walk+"/.bin/dist; cp deploy/*.md "+walk+"/deploy; cp internal/proof/deploy/testdata/walk*.sh "+walk)

	start(t, nil, "unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "sh", "testdata/boot.sh", walk)
	output := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(walk, name)) // it may not be there yet
		return strings.TrimSpace(string(text))
	}
	for end := time.Now().Add(12 * time.Minute); output("walk.status") == "" && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	if got := output("walk.status"); got != "0" {
		t.Errorf("walk.sh: got status %q, want 0\n%s\nthe journal:\n%s", got, tail(output("walk.out")), tail(output("journal.out")))
	}
}

// TestFiles runs the checker for each kind of file.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeNginx(t, dir, "127.0.0.1:8081", "127.0.0.1:8082")
	units := ""
	for _, unit := range []string{"petstore.service", "petstore-backup.service", "petstore-backup-failed.service", "petstore-backup.timer"} {
		write(t, dir+"/"+unit, strings.ReplaceAll(read(t, "deploy", "systemd", unit), "/usr/bin/petstore ", petstore(t)+" "))
		units += " " + dir + "/" + unit
	}
	for name, command := range map[string]string{
		"alerts":     "promtool test rules deploy/prometheus/*_test.yml",
		"nginx.conf": "nginx -t -p " + dir + " -c " + dir + "/nginx.conf",
		"units":      "env SYSTEMD_UNIT_PATH=" + dir + ": systemd-analyze verify --recursive-errors=no" + units,
		"hardening":  "systemd-analyze security --offline=true --threshold=19 " + dir + "/petstore.service " + dir + "/petstore-backup.service",
		"release":    "make release-check",
		"scripts":    "for file in deploy/*/*.sh; do sh -n $file || exit 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, nil, "sh", "-c", command)
		})
	}
}

// TestPackageVersion checks that versions sort as the commits do.
func TestPackageVersion(t *testing.T) {
	t.Parallel()
	dir, script := t.TempDir(), root(t, "deploy", "package", "version.sh")
	commit := `for i in 1 2 3 4 5 6 7 8 9 10 11; do git commit -q --allow-empty -m x; done; sh ` + script + "\n"
	one := `git commit -q --allow-empty -m x; sh ` + script + "\n"
	text := run(t, []string{"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x"}, "sh", "-ec",
		"cd "+dir+"; git init -q\n"+one+commit+"git tag v1.0.0; sh "+script+"\n"+one+commit+"git tag v1.0.1; sh "+script)
	versions := strings.Fields(text)
	if len(versions) != 6 || versions[2] != "1.0.0" || !strings.HasPrefix(versions[0], "1.0.0~dev.1.") {
		t.Fatalf("got versions %q, want two before 1.0.0, it, two after it, and 1.0.1", versions)
	}
	for i, later := range versions[1:] {
		run(t, nil, "dpkg", "--compare-versions", versions[i], "lt", later)
	}
}

// TestImage builds the image and runs it as described in deploy/Dockerfile.
func TestImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"CONTAINERS_CONF=" + dir + "/containers.conf", "CONTAINERS_STORAGE_CONF=" + dir + "/storage.conf"}
	write(t, dir+"/containers.conf", "[containers]\ndefault_ulimits = []\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n")
	write(t, dir+"/storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", dir+"/root", dir+"/run"))
	podman := func(args ...string) string {
		t.Helper()
		return run(t, env, "podman", args...)
	}
	run(t, env, "make", "image", "IMAGE=podman", "IMAGE_FLAGS=--isolation chroot --format docker")

	flags := []string{"run", "--network", "host", "--read-only", "--cap-drop", "all", "--volume", "pets:/data"}
	if key := podman(append(flags, "--rm", "petstore:latest", "keys", "create", "first")...); !strings.HasPrefix(key, "psk_") {
		t.Errorf("keys create: got %q, want a key", key)
	}
	address := freeAddress(t)
	id := podman(append(flags, "--detach", "--memory", "256m", "--env", "PETSTORE_ADDR="+address, "--env", "PETSTORE_API_KEYS="+apiKey, "petstore:latest")...)
	waitFor(t, "http://"+address+"/readyz")
	podman("healthcheck", "run", id)
	underLoad(t, "http://"+address, func(more func()) { more() })
	podman("stop", "--time", "30", id)
	if got := podman("inspect", "--format", "{{.Config.User}} {{.State.OOMKilled}} {{.State.ExitCode}}", id); got != "65532:65532 false 0" {
		t.Errorf("user, killed for memory, exit status: got %s, want 65532:65532 false 0\n%s", got, podman("logs", id))
	}
	podman("rm", "--volumes", id)
}
