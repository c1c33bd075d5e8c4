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
// this system, and runs testdata/walk.sh there: the commands of deploy/README.md,
// from installation to removal.
func TestPackage(t *testing.T) {
	t.Parallel()
	dir, walk := t.TempDir(), t.TempDir()
	write(t, dir+"/goreleaser.yaml", replace(t, read(t, ".goreleaser.yaml"),
		"goos: [linux, darwin, windows]", "goos: [linux]", "goarch: [amd64, arm64]", "goarch: ["+runtime.GOARCH+"]",
		"formats: [deb, rpm]", "formats: [deb]", "dist: .bin/dist", "dist: "+dir+"/dist"))
	run(t, nil, "make", "release", "FLAGS=--snapshot --skip=docker,sbom,archive --config "+dir+"/goreleaser.yaml")
	run(t, nil, "sh", "-c", "cp "+dir+"/dist/*.deb "+walk+"/petstore.deb && cp internal/proof/deploy/testdata/walk.sh "+walk)

	start(t, nil, "unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "sh", "testdata/boot.sh", walk)
	output := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(walk, name)) // it may not be there yet
		return strings.TrimSpace(string(text))
	}
	for end := time.Now().Add(6 * time.Minute); output("walk.status") == "" && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	if got := output("walk.status"); got != "0" {
		t.Errorf("walk.sh: got status %q, want 0\n%s\nthe journal:\n%s", got, tail(output("walk.out")), tail(output("journal.out")))
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
	run(t, env, "make", "image", "IMAGE=buildah", "IMAGE_FLAGS=--isolation chroot --format docker")

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
