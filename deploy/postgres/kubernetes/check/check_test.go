// Package check has no code: its test needs modules that the service does not.
package check

import (
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestManifests renders the manifests with kustomize, and decodes each into the API's own
// type, which must have all its fields.
func TestManifests(t *testing.T) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "..")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]any{
		"Deployment":              new(apps.Deployment),
		"HorizontalPodAutoscaler": new(autoscaling.HorizontalPodAutoscaler),
		"NetworkPolicy":           new(networking.NetworkPolicy),
		"PodDisruptionBudget":     new(policy.PodDisruptionBudget),
		"Service":                 new(core.Service),
	}
	for _, r := range rendered.Resources() {
		text, err := r.AsYAML()
		if err == nil {
			err = yaml.UnmarshalStrict(text, kinds[r.GetKind()]) // an error for a kind without a type
		}
		if err != nil {
			t.Errorf("%s: %v", r.CurId(), err)
		}
	}
}
