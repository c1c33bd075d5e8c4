//go:build deploy

package deploy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// object is a manifest, or a part of one, as JSON has it.
type object = map[string]any

// manifests returns the rendered manifests of deploy/kubernetes by their kind. The
// program in manifests/ decodes each by the API's own types.
func manifests(t *testing.T) map[string]object {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), root(t, ".bin", "manifests"), root(t, "deploy", "kubernetes"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the manifests: got %v, want all decoded\n%s", err, stderr.String())
	}
	var all []object
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	byKind := map[string]object{}
	for _, m := range all {
		byKind[m["kind"].(string)] = m
	}
	return byKind
}

// at returns the part of a manifest at a path of names and indices.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(object)[step]
		case int:
			value = value.([]any)[step]
		}
		if value == nil {
			t.Fatalf("%v: got nothing at %v, want a value", path, step)
		}
	}
	return value
}

func TestTheManifestsFitTogether(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	pod := at(t, all["Deployment"], "spec", "template", "spec")
	container := at(t, pod, "containers", 0)
	labels := fmt.Sprint(at(t, all["Deployment"], "spec", "template", "metadata", "labels"))
	for what, selector := range map[string]any{
		"Deployment":          at(t, all["Deployment"], "spec", "selector", "matchLabels"),
		"Service":             at(t, all["Service"], "spec", "selector"),
		"PodDisruptionBudget": at(t, all["PodDisruptionBudget"], "spec", "selector", "matchLabels"),
		"NetworkPolicy":       at(t, all["NetworkPolicy"], "spec", "podSelector", "matchLabels"),
	} {
		if got := fmt.Sprint(selector); got != labels {
			t.Errorf("%s: got the selector %s, want the labels of the pods, %s", what, got, labels)
		}
	}
	target := at(t, all["HorizontalPodAutoscaler"], "spec", "scaleTargetRef")
	if got, want := fmt.Sprint(at(t, target, "kind"), at(t, target, "name")), fmt.Sprint("Deployment", at(t, all["Deployment"], "metadata", "name")); got != want {
		t.Errorf("HorizontalPodAutoscaler: got the target %s, want %s", got, want)
	}
	if _, fixed := all["Deployment"]["spec"].(object)["replicas"]; fixed {
		t.Error("Deployment: got a number of replicas, want the autoscaler to own it")
	}

	// Every port that a manifest names is the container's.
	ports := map[string]bool{}
	for _, p := range at(t, container, "ports").([]any) {
		ports[p.(object)["name"].(string)] = true
	}
	text, _ := json.Marshal([]any{all, container})
	for _, m := range regexp.MustCompile(`"(?:targetPort|port)":"(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		if !ports[m[1]] {
			t.Errorf("got the port %q, want one that the container names: %v", m[1], ports)
		}
	}

	// The drain and the requests under way end before Kubernetes kills the pod.
	const shutdown = 20 // seconds; deploy/README.md, "Probes"
	variables := variablesOf(t, container)
	drain, err := time.ParseDuration(variables["PETSTORE_DRAIN"])
	if grace := at(t, pod, "terminationGracePeriodSeconds").(float64); err != nil || grace < drain.Seconds()+shutdown {
		t.Errorf("terminationGracePeriodSeconds: got %v, want more than PETSTORE_DRAIN (%v, %v) and %d s", grace, drain, err, shutdown)
	}
	help := command(t, petstore(t), "serve", "-h")
	for name := range variables {
		if !strings.Contains(help, name) {
			t.Errorf("Deployment: got %s, want a variable that petstore serve reads", name)
		}
	}

	for what, want := range map[string]any{
		"enableServiceLinks":           false,
		"automountServiceAccountToken": false,
	} {
		if got := pod.(object)[what]; got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	if got := at(t, pod, "securityContext", "runAsNonRoot"); got != true {
		t.Errorf("runAsNonRoot: got %v, want true", got)
	}
	security := fmt.Sprint(at(t, container, "securityContext"))
	if want := "map[allowPrivilegeEscalation:false capabilities:map[drop:[ALL]] readOnlyRootFilesystem:true]"; security != want {
		t.Errorf("securityContext: got %s, want %s", security, want)
	}
}

// variablesOf returns the variables of a container that have a value in the manifest,
// and as "" those that come from a secret.
func variablesOf(t *testing.T, container any) map[string]string {
	t.Helper()
	variables := map[string]string{}
	for _, v := range at(t, container, "env").([]any) {
		value, _ := v.(object)["value"].(string)
		variables[v.(object)["name"].(string)] = value
	}
	return variables
}

// TestAPodEndsPolitelyUnderLoad plays one pod made from the Deployment by podman. Only
// what this machine lacks is taken out: the probes, which podman runs without effect
// on its own, a registry, and a network of pods.
func TestAPodEndsPolitelyUnderLoad(t *testing.T) {
	t.Parallel()
	containers := withImage(t)
	database := pgtest.Start(t).Address("postgres")
	address, admin := freeAddress(t), freeAddress(t)

	deployment := manifests(t)["Deployment"]
	pod := at(t, deployment, "spec", "template", "spec").(object)
	pod["hostNetwork"] = true
	container := at(t, pod, "containers", 0).(object)
	container["imagePullPolicy"] = "Never"
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		delete(container, probe)
	}
	delete(container, "ports") // those of the host's network are the addresses below
	for _, v := range container["env"].([]any) {
		switch v := v.(object); v["name"] {
		case "PETSTORE_ADDR":
			v["value"] = address
		case "PETSTORE_ADMIN_ADDR":
			v["value"] = admin
		}
	}
	container["env"] = append(container["env"].([]any), object{"name": "PETSTORE_API_KEYS", "value": apiKey})
	manifest, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": "petstore", "labels": at(t, deployment, "spec", "template", "metadata", "labels")},
		"spec":     pod,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secret, _ := json.Marshal(map[string]string{"store": base64.StdEncoding.EncodeToString([]byte(database))})
	write(t, filepath.Join(dir, "secret"), string(secret))
	write(t, filepath.Join(dir, "pod.json"), string(manifest))
	containers.podman(t, "secret", "create", "petstore", filepath.Join(dir, "secret"))
	containers.podman(t, "kube", "play", filepath.Join(dir, "pod.json"))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			out, _ := containers.command(ctx, "podman", "logs", "petstore-petstore").CombinedOutput()
			t.Logf("the pod wrote:\n%s", out[max(0, len(out)-4000):])
		}
		_ = containers.command(ctx, "podman", "pod", "rm", "--force", "--time", "0", "petstore").Run() // the test has ended
	})

	url := "http://" + address
	eventually(t, "a pod whose /readyz says yes", func() bool {
		status, _, err := send(t.Context(), client(), http.MethodGet, url+"/readyz", "")
		return err == nil && status == http.StatusOK
	})

	// Clients create until the pod has said for a while that it is not ready, as those
	// behind a Service do. Every create succeeds, and nothing that they were sent is lost.
	var (
		mu           sync.Mutex
		acknowledged = map[int64]bool{}
		clients      sync.WaitGroup
		ended        atomic.Bool
	)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for range 8 {
		clients.Go(func() {
			c := client()
			defer c.CloseIdleConnections()
			for !ended.Load() {
				status, body, err := send(context.WithoutCancel(t.Context()), c, http.MethodPost, url+"/v1/pets", `{"name":"Frank","categoryId":1}`)
				var made struct{ ID int64 }
				if err != nil || status != http.StatusCreated || json.Unmarshal([]byte(body), &made) != nil {
					t.Errorf("a create while the pod ends: got %d %s (%v), want 201", status, body, err)
					return
				}
				mu.Lock()
				acknowledged[made.ID] = true
				mu.Unlock()
			}
		})
	}
	defer clients.Wait()
	defer ended.Store(true)
	eventually(t, "creates under load", func() bool { return count() > 500 })
	grace := strconv.FormatFloat(at(t, pod, "terminationGracePeriodSeconds").(float64), 'f', 0, 64)
	stop := containers.command(t.Context(), "podman", "pod", "stop", "--time", grace, "petstore")
	if err := stop.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a pod whose /readyz says no", func() bool {
		status, _, err := send(t.Context(), client(), http.MethodGet, url+"/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	})
	notReady := count()
	eventually(t, "creates while /readyz says no", func() bool { return count() > notReady+200 })
	ended.Store(true)
	clients.Wait()
	if err := stop.Wait(); err != nil {
		t.Errorf("podman pod stop: got %v, want success", err)
	}
	if got := strings.TrimSpace(containers.podman(t, "inspect", "--format", "{{.State.ExitCode}}", "petstore-petstore")); got != "0" {
		t.Errorf("exit status of the container: got %s, want 0", got)
	}

	var ids []int64
	for id := range acknowledged {
		ids = append(ids, id)
	}
	if got := pgtest.Query[int](t, database, "SELECT count(*) FROM pets WHERE id = ANY($1)", ids); got != len(ids) {
		t.Errorf("acknowledged animals: got %d, want all %d", got, len(ids))
	}
}
