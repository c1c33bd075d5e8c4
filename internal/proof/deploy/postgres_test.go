//go:build deploy

package deploy

import "testing"

// TestManifests decodes what Kubernetes gets.
func TestManifests(t *testing.T) {
	t.Parallel()
	run(t, "go", "-C", "deploy/postgres/kubernetes/check", "run", ".", "..")
}
