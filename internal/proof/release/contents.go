package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names that projects give to their terms.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// docsUI is the folder of the documentation page's user interface, which comes
// from npm and is a part of every program.
const docsUI = "internal/edge/docs/ui"

// thirdPartyLicences returns the terms of everything that is a part of a program
// on any platform: Go, its modules and the user interface of /docs.
func thirdPartyLicences() ([]byte, error) {
	goroot, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go (https://go.dev)": goroot, "Scalar (https://github.com/scalar/scalar)": docsUI}
	for p := range strings.FieldsSeq(everyPlatform) {
		system, arch, _ := strings.Cut(p, "/")
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/petstore")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		out, err := output(cmd)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				folders[module] = dir
			}
		}
	}
	var all bytes.Buffer
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := appendLicences(&all, name, folders[name]); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// appendLicences writes the terms that stand in dir. It is an error if there are
// none: a program must not be given away without them.
func appendLicences(w io.Writer, name, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) && !strings.Contains(f.Name(), ".LICENSE.") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "==== %s: %s ====\n\n%s\n\n", name, f.Name(), bytes.TrimSpace(text))
		found = true
	}
	if !found {
		return fmt.Errorf("%s: no licence in %s", name, dir)
	}
	return nil
}

// sbom writes the list of a program's parts as CycloneDX, without a time or a random
// number. cyclonedx-gomod knows the Go modules; sbom adds the user interface of
// /docs.
func (r *release) sbom(program, path string) error {
	cmd := exec.Command(filepath.Join(r.tools, "cyclonedx-gomod"), "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, program)
	out, err := output(cmd)
	if err != nil {
		return err
	}
	var bom map[string]any
	if err := json.Unmarshal([]byte(out), &bom); err != nil {
		return err
	}
	components, ok := bom["components"].([]any)
	if !ok {
		return errors.New("the SBOM of cyclonedx-gomod has no components")
	}
	ui, err := docsUIComponent()
	if err != nil {
		return err
	}
	bom["components"] = append(components, ui)
	text, err := json.MarshalIndent(bom, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func docsUIComponent() (map[string]any, error) {
	text, err := os.ReadFile(filepath.Join(docsUI, "package.json"))
	if err != nil {
		return nil, err
	}
	var pinned struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &pinned); err != nil {
		return nil, err
	}
	const name = "@scalar/api-reference"
	version := pinned.Dependencies[name]
	if version == "" {
		return nil, fmt.Errorf("%s/package.json pins no %s", docsUI, name)
	}
	purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
	return map[string]any{
		"bom-ref": purl, "type": "library", "name": name, "version": version, "purl": purl, "scope": "required",
		"licenses": []any{map[string]any{"license": map[string]any{"id": "MIT"}}},
	}, nil
}
