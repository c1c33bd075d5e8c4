//go:build deploy

package deploy

import "testing"

// TestManifests runs the test of the manifests, which has a module of its own.
func TestManifests(t *testing.T) {
	t.Parallel()
	run(t, "go", "-C", "deploy/postgres/kubernetes/check", "test", "-count=1", ".")
}
