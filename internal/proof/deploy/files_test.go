//go:build deploy

package deploy

import (
	"strings"
	"testing"
)

// TestFiles runs the checker for each kind of file.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeNginx(t, dir, "127.0.0.1:443", [2]string{"127.0.0.1:8081", "127.0.0.1:8082"})
	units := unitsIn(t, dir)
	for name, command := range map[string]string{
		"alert tests": "promtool test rules deploy/prometheus/*_test.yml",
		"prometheus":  "promtool check config deploy/prometheus/prometheus.yml", // and the alerts
		"Caddyfile":   "env HOME=" + dir + " caddy validate --adapter caddyfile --config deploy/proxy/Caddyfile",
		"nginx.conf":  "nginx -t -p " + dir + " -c " + dir + "/nginx.conf",
		"units":       "env SYSTEMD_UNIT_PATH=" + dir + ": systemd-analyze verify --recursive-errors=no" + units,
		"hardening":   "systemd-analyze security --offline=true --threshold=19 " + dir + "/petstore.service " + dir + "/petstore-backup.service",
		"release":     "make release-check",
		"scripts":     "for file in deploy/*/*.sh; do sh -n $file || exit 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, nil, "sh", "-c", command)
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
