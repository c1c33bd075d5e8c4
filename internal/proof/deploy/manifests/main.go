// Command manifests renders a folder of Kubernetes manifests by kustomize and decodes
// each by the API's own types. A field that the API does not have is an error: a
// cluster would drop it, or refuse the whole manifest. The result is a JSON array of
// the manifests on standard output. It stands in a module of its own, since the
// service needs none of what it imports.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifest is what the types below have in common.
type manifest interface{ GetName() string }

// kinds makes an empty manifest of each kind, by apiVersion and kind.
var kinds = map[string]func() manifest{
	"apps/v1 Deployment":                     func() manifest { return new(apps.Deployment) },
	"autoscaling/v2 HorizontalPodAutoscaler": func() manifest { return new(autoscaling.HorizontalPodAutoscaler) },
	"networking.k8s.io/v1 NetworkPolicy":     func() manifest { return new(networking.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":          func() manifest { return new(policy.PodDisruptionBudget) },
	"v1 Service":                             func() manifest { return new(core.Service) },
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manifests FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: no manifests (%w)", dir, err)
	}
	for _, file := range files {
		if err := checkFile(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return err
	}
	if rendered.Size() != len(files)-1 {
		return fmt.Errorf("kustomization.yaml has %d manifests of %d files: name each file under resources", rendered.Size(), len(files)-1)
	}
	var all []manifest
	for _, r := range rendered.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return err
		}
		m, err := decode(text)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// checkFile decodes one file as it stands.
func checkFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if filepath.Base(file) == "kustomization.yaml" {
		return yaml.UnmarshalStrict(text, new(types.Kustomization))
	}
	_, err = decode(text)
	return err
}

func decode(text []byte) (manifest, error) {
	if bytes.Contains(text, []byte("\n---")) {
		return nil, errors.New("got several manifests, want one a file")
	}
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	newManifest := kinds[kind.APIVersion+" "+kind.Kind]
	if newManifest == nil {
		return nil, fmt.Errorf("got apiVersion %q and kind %q, want a kind that this program decodes: add it", kind.APIVersion, kind.Kind)
	}
	m := newManifest()
	if err := yaml.UnmarshalStrict(text, m); err != nil {
		return nil, err
	}
	if m.GetName() == "" {
		return nil, errors.New("got no metadata.name, want one")
	}
	return m, nil
}
