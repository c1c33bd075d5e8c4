//go:build deploy

package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// platform is the one that the checks make a release for: each of the others
// takes a minute more.
const platform = "linux/" + runtime.GOARCH

// makeRelease runs the release on a copy of the repository, somewhere else.
func makeRelease(t *testing.T, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	copied := exec.CommandContext(t.Context(), "sh", "-c", `git ls-files -z --cached --others --exclude-standard | tar c --null --ignore-failed-read -T - | tar x -C "$1"`, "sh", dir)
	copied.Dir = root(t)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copying the repository: %v\n%s", err, out)
	}
	out := filepath.Join(dir, "out")
	// The program is built with the umask of one builder, not with the other's.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `umask $UMASK && exec go run ./internal/proof/release "$@"`, "sh",
		"-platforms", platform, "-tools", root(t, ".bin", "release-tools"), "-out", out,
		"-version", "v1.2.3", "-commit", "0123456789abcdef", "-time", "1700000000")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release: %v\n%s", err, text)
	}
	return out
}

func TestTwoReleasesOfACommitAreTheSameBytes(t *testing.T) {
	t.Parallel()
	first := makeRelease(t, "UMASK=022", "TZ=UTC", "LC_ALL=C")
	second := makeRelease(t, "UMASK=077", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8")
	// The sums are of every file.
	if got, want := sums(t, second), sums(t, first); got != want {
		t.Errorf("the second release: got\n%s\nwant\n%s", got, want)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = first
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum --check: %v\n%s", err, out)
	}

	command(t, "tar", "xf", glob(t, first, "*.tar.gz"), "-C", first, "--strip-components=1")
	if out := command(t, filepath.Join(first, "petstore"), "version"); !strings.Contains(out, "v1.2.3") {
		t.Errorf("petstore version: got %s, want v1.2.3", out)
	}
	if out, err := exec.CommandContext(t.Context(), "ldd", filepath.Join(first, "petstore")).CombinedOutput(); err == nil {
		t.Errorf("ldd: got %s, want a static program", out)
	}
	licences, err := os.ReadFile(filepath.Join(first, "THIRD_PARTY_LICENSES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range parts(t, glob(t, first, "petstore_*.cdx.json")) {
		if !strings.Contains(string(licences), name) {
			t.Errorf("THIRD_PARTY_LICENSES.txt: got no terms of %s, want them", name)
		}
	}

	contents := command(t, "dpkg-deb", "--contents", glob(t, first, "*.deb"))
	packaged := []string{
		"/usr/bin/petstore", "/usr/lib/systemd/system/petstore.service", "/etc/petstore/petstore.env", "/usr/share/doc/petstore/sbom.cdx.json",
		"/usr/share/man/man1/petstore.1.gz", "/usr/share/man/man1/petstore-keys-rotate.1.gz", "/usr/share/bash-completion/completions/petstore", "/usr/share/fish/vendor_completions.d/petstore.fish",
	}
	for _, want := range packaged {
		if !strings.Contains(contents, "."+want+"\n") {
			t.Errorf("the package for Debian: got no %s, want it", want)
		}
	}
	if page := command(t, "gzip", "-dc", filepath.Join(first, "man", "petstore-serve.1.gz")); !strings.Contains(page, "PETSTORE_MAX_CONNECTIONS") {
		t.Errorf("the page of petstore serve: got %s, want its variables", page)
	}
	rpm := glob(t, first, "*.rpm")
	if out := command(t, "rpm", "--checksig", "--nosignature", rpm); !strings.Contains(out, "digests OK") {
		t.Errorf("rpm --checksig: got %s, want digests OK", out)
	}
	if got, want := command(t, "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION}", rpm), "petstore 1.2.3"; got != want {
		t.Errorf("the package for Red Hat: got %q, want %q", got, want)
	}
	contents = command(t, "rpm", "-qlp", rpm)
	for _, want := range packaged {
		if !strings.Contains(contents, want+"\n") {
			t.Errorf("the package for Red Hat: got no %s, want it", want)
		}
	}
}

func sums(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// glob returns the one file in dir that fits.
func glob(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v (%v), want one file", pattern, files, err)
	}
	return files[0]
}

// parts returns the names of the parts that the SBOM lists, as the file of
// licences has them.
func parts(t *testing.T, sbom string) []string {
	t.Helper()
	data, err := os.ReadFile(sbom)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct{ Name string }
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range bom.Components {
		switch c.Name {
		case "std":
			names = append(names, "Go (https://go.dev)")
		case "@scalar/api-reference":
			names = append(names, "Scalar (https://github.com/scalar/scalar)")
		default:
			names = append(names, c.Name+" v")
		}
	}
	if len(names) < 20 {
		t.Fatalf("the SBOM: got %d parts, want all", len(names))
	}
	return names
}
