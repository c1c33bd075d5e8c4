//go:build deploy

package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPackage makes the package for Debian, boots systemd on a copy of this
// system that vanishes, and runs testdata/walk.sh there: the commands of
// deploy/README.md from the installation to the removal.
func TestPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := read(t, ".goreleaser.yaml")
	config = replace(t, config, "goos: [linux, darwin, windows]", "goos: [linux]")
	config = replace(t, config, "goarch: [amd64, arm64]", "goarch: ["+runtime.GOARCH+"]")
	config = replace(t, config, "dist: .bin/dist", "dist: "+dir+"/dist")
	config = replace(t, config, "formats: [deb, rpm]", "formats: [deb]")
	write(t, dir+"/goreleaser.yaml", config)
	run(t, "make", "release", "FLAGS=--snapshot --skip=docker,sbom,archive --config "+dir+"/goreleaser.yaml")

	walk := t.TempDir()
	packages, err := filepath.Glob(dir + "/dist/*.deb")
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages: got %v (%v), want one", packages, err)
	}
	run(t, "cp", packages[0], walk+"/petstore.deb")
	run(t, "cp", root(t, "internal", "proof", "deploy", "testdata", "walk.sh"), walk)
	start(t, nil, "unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "sh", "testdata/boot.sh", walk)
	output := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(walk, name)) // it may not be there yet
		return string(text)
	}
	eventually(t, "the end of walk.sh", func() bool { return output("walk.status") != "" })
	if status := strings.TrimSpace(output("walk.status")); status != "0" {
		t.Errorf("walk.sh: got status %s, want 0\n%s\nthe journal:\n%s", status, tail(output("walk.out")), tail(output("journal.out")))
	}
}

// TestImage builds the image and runs it as deploy/Dockerfile says.
func TestImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"CONTAINERS_CONF=" + dir + "/containers.conf", "CONTAINERS_STORAGE_CONF=" + dir + "/storage.conf"}
	write(t, dir+"/containers.conf", "[containers]\ndefault_ulimits = []\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n")
	write(t, dir+"/storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", dir+"/root", dir+"/run"))
	podman := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(runEnv(t, env, "podman", args...))
	}
	runEnv(t, env, "make", "image", "IMAGE=buildah", "IMAGE_FLAGS=--isolation chroot --format docker")

	flags := []string{"run", "--network", "host", "--read-only", "--cap-drop", "all", "--volume", "pets:/data"}
	key := podman(append(flags, "--rm", "petstore:latest", "keys", "create", "first")...)
	if !strings.HasPrefix(key, "psk_") {
		t.Errorf("keys create: got %q, want a key", key)
	}
	address := freeAddress(t)
	id := podman(append(flags, "--detach", "--memory", "256m", "--env", "PETSTORE_ADDR="+address, "--env", "PETSTORE_API_KEYS="+apiKey, "petstore:latest")...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(podman("logs", id))
		}
	})
	waitFor(t, "http://"+address+"/readyz")
	podman("healthcheck", "run", id)
	l := startLoad(t, "http://"+address)
	l.more(t, 2000)
	l.finish(t)
	podman("stop", "--time", "30", id)
	if got := podman("inspect", "--format", "{{.Config.User}} {{.State.OOMKilled}} {{.State.ExitCode}}", id); got != "65532:65532 false 0" {
		t.Errorf("user, killed for memory, exit status: got %s, want 65532:65532 false 0", got)
	}
	podman("rm", "--volumes", id)
}
