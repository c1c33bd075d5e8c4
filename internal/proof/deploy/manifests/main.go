// Command manifests renders a directory of Kubernetes manifests with kustomize,
// decodes each into the API's own type, and prints them as a JSON array. It fails
// on fields that the type does not have.
package main

import (
	"encoding/json"
	"log"
	"os"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var all []any
	for _, r := range rendered.Resources() {
		m, known := map[string]any{
			"Deployment":              new(apps.Deployment),
			"HorizontalPodAutoscaler": new(autoscaling.HorizontalPodAutoscaler),
			"NetworkPolicy":           new(networking.NetworkPolicy),
			"PodDisruptionBudget":     new(policy.PodDisruptionBudget),
			"Service":                 new(core.Service),
		}[r.GetKind()]
		if !known {
			log.Fatalf("%s: unknown kind; add its type", r.CurId())
		}
		text, err := r.AsYAML()
		if err == nil {
			err = yaml.UnmarshalStrict(text, m)
		}
		if err != nil {
			log.Fatalf("%s: %v", r.CurId(), err)
		}
		all = append(all, m)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}
