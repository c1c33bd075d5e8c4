//go:build deploy

package deploy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestFiles runs the checker for each kind of file.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeNginx(t, dir, "127.0.0.1:443", [2]string{"127.0.0.1:8081", "127.0.0.1:8082"})
	units := unitsIn(t, dir)
	for name, command := range map[string]string{
		"alerts":      "promtool check rules deploy/prometheus/alerts.yml deploy/prometheus/alerts_postgres.yml",
		"alert tests": "promtool test rules deploy/prometheus/alerts_test.yml deploy/prometheus/alerts_postgres_test.yml",
		"prometheus":  "promtool check config deploy/prometheus/prometheus.yml",
		"Caddyfile":   "env HOME=" + dir + " caddy validate --adapter caddyfile --config deploy/proxy/Caddyfile",
		"nginx.conf":  "nginx -t -p " + dir + " -c " + dir + "/nginx.conf",
		"units":       "env SYSTEMD_UNIT_PATH=" + dir + ": systemd-analyze verify --recursive-errors=no" + units,
		"hardening":   "systemd-analyze security --offline=true --threshold=19 " + dir + "/petstore.service " + dir + "/petstore-backup.service",
		"release":     "make release-check",
		"scripts":     "sh -n deploy/package/prepare.sh deploy/package/postinstall.sh deploy/package/preremove.sh deploy/package/build.sh deploy/package/version.sh deploy/proxy/limit-connections.sh",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(command)
			run(t, nil, words[0], words[1:]...)
		})
	}
}

// unitsIn copies the units to dir, makes them run the program built here, and
// returns their paths.
func unitsIn(t *testing.T, dir string) string {
	t.Helper()
	paths := ""
	for _, unit := range []string{"petstore.service", "petstore-backup.service", "petstore-backup-failed.service", "petstore-backup.timer"} {
		write(t, dir+"/"+unit, strings.ReplaceAll(read(t, "deploy", "systemd", unit), "/usr/bin/petstore ", petstore(t)+" "))
		paths += " " + dir + "/" + unit
	}
	return paths
}

// TestVariables looks for environment variables that nothing reads.
func TestVariables(t *testing.T) {
	known := run(t, nil, petstore(t), "serve", "-h") + "PETSTORE_HOST PETSTORE_REPLICAS PETSTORE_IMAGE PETSTORE_PORT"
	for _, file := range strings.Fields(run(t, nil, "git", "ls-files", "deploy")) {
		for _, name := range regexp.MustCompile(`PETSTORE_[A-Z_]+`).FindAllString(read(t, file), -1) {
			flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "PETSTORE_"), "_", "-"))
			if !strings.Contains(known, name) && !regexp.MustCompile(flag+`[ [=]`).MatchString(known) {
				t.Errorf("%s: petstore serve does not read %s", file, name)
			}
		}
	}
}

// TestAlertTests looks for alerts without a test.
func TestAlertTests(t *testing.T) {
	alerts, tests := "", ""
	for _, file := range strings.Fields(run(t, nil, "git", "ls-files", "deploy/prometheus/alerts*.yml")) {
		if text := read(t, file); strings.HasSuffix(file, "_test.yml") {
			tests += text
		} else {
			alerts += text
		}
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(alerts, -1) {
		if !strings.Contains(tests, `alertname="`+m[1]+`"`) {
			t.Errorf("deploy/prometheus: got no test of %s, want one", m[1])
		}
	}
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
