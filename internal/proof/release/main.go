// Command release makes the files of a release: for each platform an archive with
// the static program, packages for Debian and Red Hat, and an SBOM. Beside them are
// man pages, completions for shells, the licences of all parts, and checksums. Two runs on one commit make the same
// bytes. The command publishes nothing; the release workflow does.
package main

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const everyPlatform = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"

// release is one run: the same values make the same bytes.
type release struct {
	version, commit string
	time            time.Time // of everything in archives and packages
	out             string    // the folder of the results
	tools           string    // the folder of nfpm, cyclonedx-gomod and man
}

func main() {
	var r release
	platforms := flag.String("platforms", everyPlatform, "what to build for")
	flag.StringVar(&r.out, "out", ".bin/release", "the folder of the results; it is emptied first")
	flag.StringVar(&r.tools, "tools", ".bin/release-tools", "the folder of nfpm, cyclonedx-gomod and man")
	flag.StringVar(&r.version, "version", "", "the version, else as git describes the commit")
	flag.StringVar(&r.commit, "commit", "", "the commit, else that of the working tree")
	seconds := flag.Int64("time", 0, "the time of the release in Unix seconds, else that of the commit")
	flag.Parse()
	r.time = time.Unix(*seconds, 0).UTC()
	if err := r.make(strings.Fields(*platforms)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// make makes everything for the platforms, such as linux/amd64.
func (r *release) make(platforms []string) error {
	if err := r.fromGit(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	licences, err := thirdPartyLicences()
	if err != nil {
		return err
	}
	manuals, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(manuals)
	if err := r.manuals(manuals); err != nil {
		return err
	}
	for i, p := range platforms {
		fmt.Fprintf(os.Stderr, "[%d/%d] petstore %s for %s\n", i+1, len(platforms), r.version, p)
		system, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("platform %q: want a system and an architecture, such as linux/amd64", p)
		}
		if err := r.platform(system, arch, licences, manuals); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return r.checksums()
}

// fromGit asks git for the values that no flag sets.
func (r *release) fromGit() error {
	for _, ask := range []struct {
		value *string
		args  []string
	}{
		{&r.version, []string{"describe", "--tags", "--always", "--dirty"}},
		{&r.commit, []string{"rev-parse", "HEAD"}},
	} {
		if *ask.value == "" {
			out, err := output(exec.Command("git", ask.args...))
			if err != nil {
				return err
			}
			*ask.value = out
		}
	}
	if r.time.Unix() == 0 {
		out, err := output(exec.Command("git", "log", "-1", "--format=%ct"))
		if err != nil {
			return err
		}
		seconds, err := strconv.ParseInt(out, 10, 64)
		if err != nil {
			return err
		}
		r.time = time.Unix(seconds, 0).UTC()
	}
	return nil
}

// platform makes the program, its SBOM, its archive and its packages.
func (r *release) platform(system, arch string, licences []byte, manuals string) error {
	stage, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	program := filepath.Join(stage, "petstore")
	if system == "windows" {
		program += ".exe"
	}
	if err := r.build(program, system, arch); err != nil {
		return err
	}
	if err := r.sbom(program, filepath.Join(stage, "sbom.cdx.json")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage, "THIRD_PARTY_LICENSES.txt"), licences, 0o644); err != nil {
		return err
	}
	for from, to := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "openapi.yaml": "openapi.yaml", "deploy": "deploy",
		filepath.Join(manuals, "man"): "man", filepath.Join(manuals, "completions"): "completions",
	} {
		if err := copyTree(from, filepath.Join(stage, to)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	name := fmt.Sprintf("petstore_%s_%s_%s", r.number(), system, arch)
	if err := copyTree(filepath.Join(stage, "sbom.cdx.json"), filepath.Join(r.out, name+".cdx.json")); err != nil {
		return err
	}
	archive := writeTarGz
	suffix := ".tar.gz"
	if system == "windows" {
		archive, suffix = writeZip, ".zip"
	}
	if err := archive(filepath.Join(r.out, name+suffix), stage, name, r.time); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	return r.packages(stage, arch)
}

// build compiles the program. No path, time or machine is in it.
func (r *release) build(program, system, arch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program,
		"-ldflags", fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s", r.version, r.commit), "./cmd/petstore")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	_, err := output(cmd)
	return err
}

// number is the version as packages want it: 1.2.3, or 0.0.0-… of no release.
func (r *release) number() string {
	n := strings.TrimPrefix(r.version, "v")
	if n == "" || n[0] < '0' || n[0] > '9' || !strings.Contains(n, ".") {
		return "0.0.0-" + n
	}
	return n
}

// packages makes a .deb and an .rpm of the files in stage.
func (r *release) packages(stage, arch string) error {
	nfpm, err := filepath.Abs(filepath.Join(r.tools, "nfpm"))
	if err != nil {
		return err
	}
	out, err := filepath.Abs(r.out)
	if err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		cmd := exec.Command(nfpm, "package", "--config", "deploy/package/nfpm.yaml", "--packager", kind, "--target", out)
		cmd.Dir = stage
		cmd.Env = append(os.Environ(), "VERSION="+r.number(), "ARCH="+arch,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
		if _, err := output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// checksums writes SHA256SUMS of all results, as sha256sum reads it.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var sums strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// output runs a command and returns the text it prints. An error has the text of
// its standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
