// Command manifests renders a folder of Kubernetes manifests with kustomize,
// decodes each into the API's own type, and prints them as a JSON array. It
// fails on a field that the type does not have.
package main

import (
	"encoding/json"
	"fmt"
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
	log.SetFlags(0)
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var all []any
	for _, r := range rendered.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			log.Fatal(err)
		}
		m, err := typeOf(r.GetKind())
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

func typeOf(kind string) (any, error) {
	switch kind {
	case "Deployment":
		return new(apps.Deployment), nil
	case "HorizontalPodAutoscaler":
		return new(autoscaling.HorizontalPodAutoscaler), nil
	case "NetworkPolicy":
		return new(networking.NetworkPolicy), nil
	case "PodDisruptionBudget":
		return new(policy.PodDisruptionBudget), nil
	case "Service":
		return new(core.Service), nil
	}
	return nil, fmt.Errorf("unknown kind %s: add its type here", kind)
}
