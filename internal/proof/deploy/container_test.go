//go:build deploy

package deploy

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// memoryLimit is the memory of the container, in bytes.
const memoryLimit = 128 << 20

// TestTheContainerPassesALoadInLittleMemory builds the image and runs it as
// deploy/Dockerfile says: as nobody, with nothing to write to but its volume.
// buildah and podman run without a daemon, without systemd and, by chroot and the
// file system vfs, on machines that are containers themselves.
func TestTheContainerPassesALoadInLittleMemory(t *testing.T) {
	t.Parallel()
	containers := withImage(t)

	run := []string{"run", "--network", "host", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--volume", "pets:/data"}
	if out, err := containers.command(t.Context(), "podman", append(run, "--rm", "petstore:latest")...).CombinedOutput(); err == nil || !strings.Contains(string(out), "keys create") {
		t.Errorf("without a store: got %s (%v), want an error that names keys create", out, err)
	}
	if out := containers.podman(t, append(run, "--rm", "petstore:latest", "keys", "create", "first")...); !strings.Contains(out, "psk_") {
		t.Errorf("keys create: got %s, want a key", out)
	}
	address, admin := freeAddress(t), freeAddress(t)
	id := strings.TrimSpace(containers.podman(t, append(run, "--detach", "--memory", strconv.Itoa(memoryLimit),
		"--env", "PETSTORE_ADDR="+address, "--env", "PETSTORE_ADMIN_ADDR="+admin, "--env", "PETSTORE_API_KEYS="+apiKey, "petstore:latest")...))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			out, _ := containers.command(ctx, "podman", "logs", id).CombinedOutput()
			t.Logf("the container wrote:\n%s", out[max(0, len(out)-4000):])
		}
		_ = containers.command(ctx, "podman", "rm", "--force", "--volumes", "--time", "0", id).Run() // the test has ended
	})
	eventually(t, "a container whose health check succeeds", func() bool {
		return containers.command(t.Context(), "podman", "healthcheck", "run", id).Run() == nil
	})
	if got := containers.podman(t, "inspect", "--format", "{{.HostConfig.Memory}} {{.Config.User}} {{.HostConfig.ReadonlyRootfs}}", id); strings.TrimSpace(got) != fmt.Sprint(memoryLimit, " 65532:65532 true") {
		t.Errorf("memory, user, read-only: got %s, want %d 65532:65532 true", got, memoryLimit)
	}

	// Go collects before the container is full.
	_, metrics, err := send(t.Context(), client(), http.MethodGet, "http://"+admin+"/metrics", "")
	if want := fmt.Sprintf("\ngo_gc_gomemlimit_bytes %g\n", 0.75*memoryLimit); err != nil || !strings.Contains(metrics, want) {
		t.Errorf("GOMEMLIMIT: got %q (%v), want %q", regexp.MustCompile(`\ngo_gc_gomemlimit_bytes.*\n`).FindString(metrics), err, want)
	}

	loaded(t, "http://"+address)

	if got := strings.TrimSpace(containers.podman(t, "inspect", "--format", "{{.State.Status}} {{.State.OOMKilled}} {{.RestartCount}}", id)); got != "running false 0" {
		t.Errorf("status, killed for memory, restarts: got %s, want running false 0", got)
	}
	containers.podman(t, "stop", "--time", "60", id)
	if got := strings.TrimSpace(containers.podman(t, "inspect", "--format", "{{.State.ExitCode}}", id)); got != "0" {
		t.Errorf("exit status after SIGTERM: got %s, want 0", got)
	}
}

// withImage builds the image into a storage of the test's own.
func withImage(t *testing.T) containerEnv {
	t.Helper()
	dir := t.TempDir()
	containers := containerEnv{"CONTAINERS_CONF=" + dir + "/containers.conf", "CONTAINERS_STORAGE_CONF=" + dir + "/storage.conf"}
	write(t, dir+"/containers.conf", "[containers]\ndefault_ulimits = []\n[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n")
	write(t, dir+"/storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", dir+"/root", dir+"/run"))
	if out, err := containers.command(t.Context(), "make", "-C", root(t), "image", "IMAGE=buildah", "IMAGE_FLAGS=--isolation chroot --format docker").CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	return containers
}

// loaded has 64 clients create and list at once, 8,000 requests in all.
func loaded(t *testing.T, url string) {
	t.Helper()
	long := strings.Repeat("Frank ", 200)
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			c := client()
			defer c.CloseIdleConnections()
			for i := range 125 {
				method, target, body, want := http.MethodGet, "/v1/pets?limit=100", "", http.StatusOK
				if i%4 == 0 {
					method, target, body, want = http.MethodPost, "/v1/pets", `{"name":"`+long+`","categoryId":1}`, http.StatusCreated
				}
				if status, text, err := send(t.Context(), c, method, url+target, body); err != nil || status != want {
					t.Errorf("%s %s: got %d %.200s (%v), want %d", method, target, status, text, err, want)
					return
				}
			}
		})
	}
	clients.Wait()
}

// containerEnv is the environment of buildah and podman: their configuration and
// storage are the test's own.
type containerEnv []string

func (c containerEnv) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), c...)
	return cmd
}

// podman runs a command of podman and returns what it prints. Without systemd it
// complains that it cannot time health checks; that is no part of the result.
func (c containerEnv) podman(t *testing.T, args ...string) string {
	t.Helper()
	cmd := c.command(t.Context(), "podman", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("podman %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// TestWhatComposeNamesIsThere looks for the settings and files that
// compose.yaml names. It starts nothing: the images of PostgreSQL and Caddy come
// from a registry.
func TestWhatComposeNamesIsThere(t *testing.T) {
	t.Parallel()
	compose := read(t, "deploy", "compose.yaml")
	help := command(t, petstore(t), "serve", "-h")
	known := help + read(t, "deploy", "proxy", "Caddyfile") + "PETSTORE_IMAGE"
	for _, name := range regexp.MustCompile(`PETSTORE_[A-Z_]+`).FindAllString(compose, -1) {
		if !strings.Contains(known, name) {
			t.Errorf("compose.yaml sets %s: got nobody who reads it, want the service or the Caddyfile", name)
		}
	}
	for _, m := range regexp.MustCompile(`- \./([^:]+):`).FindAllStringSubmatch(compose, -1) {
		if _, err := os.Stat(root(t, "deploy", m[1])); err != nil {
			t.Errorf("compose.yaml mounts deploy/%s: got %v, want a file", m[1], err)
		}
	}
}
