//go:build deploy

package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func init() {
	faults["no standby"] = fault{[]string{"PetstoreNoSyncStandby"}, func(t *testing.T) ([]string, func(*http.Client, string)) {
		primary, standby := pgtest.Pair(t)
		return []string{"--store", primary.Address("postgres"), "--require-sync"}, func(*http.Client, string) { standby.Kill() }
	}}
}

// TestManifests decodes the manifests into the API's types and checks that they
// agree with each other.
func TestManifests(t *testing.T) {
	t.Parallel()
	var all []map[string]any
	text := run(t, nil, "go", "-C", "internal/proof/deploy/manifests", "run", ".", root(t, "deploy", "kubernetes"))
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]any{}
	for _, m := range all {
		kinds[m["kind"].(string)] = m
	}
	want := fmt.Sprint(at(kinds, "Deployment.spec.template.metadata.labels"))
	for _, selector := range []string{"Deployment.spec.selector.matchLabels", "Service.spec.selector", "PodDisruptionBudget.spec.selector.matchLabels", "NetworkPolicy.spec.podSelector.matchLabels"} {
		if got := fmt.Sprint(at(kinds, selector)); got != want {
			t.Errorf("%s: got %s, want the labels of the pods, %s", selector, got, want)
		}
	}
	if got, want := at(kinds, "HorizontalPodAutoscaler.spec.scaleTargetRef.name"), at(kinds, "Deployment.metadata.name"); got != want {
		t.Errorf("HorizontalPodAutoscaler: got target %v, want %v", got, want)
	}
	container := at(kinds, "Deployment.spec.template.spec.containers").([]any)[0]
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		if got := at(container, probe+".httpGet.port"); got != "admin" {
			t.Errorf("%s: got port %v, want admin, where clients cannot take all connections", probe, got)
		}
	}
	ports := fmt.Sprint(at(container, "ports"))
	for _, m := range regexp.MustCompile(`"(?:targetPort|port)":"(\w+)"`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(ports, "name:"+m[1]+"]") {
			t.Errorf("got port %s, want one of the container's, %s", m[1], ports)
		}
	}
	const shutdown = 10 * time.Second // after the drain
	drain, err := time.ParseDuration(regexp.MustCompile(`"PETSTORE_DRAIN","value":"(\w+)"`).FindStringSubmatch(text)[1])
	grace := time.Duration(at(kinds, "Deployment.spec.template.spec.terminationGracePeriodSeconds").(float64)) * time.Second
	if err != nil || grace < drain+shutdown {
		t.Errorf("terminationGracePeriodSeconds: got %v, want at least PETSTORE_DRAIN, %v (%v), and %v", grace, drain, err, shutdown)
	}
}

// at returns the part of a manifest at path, or nil.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}
