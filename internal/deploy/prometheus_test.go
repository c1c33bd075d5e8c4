//go:build deploy

package deploy

import (
	"os/exec"
	"strings"
	"testing"
)

func TestTheAlertsFireAsTheirTestsSay(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = root(t, "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: got %v, want success\n%s", strings.Join(args, " "), err, out)
		}
	}
}
