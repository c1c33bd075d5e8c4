//go:build deploy

package deploy

import "testing"

// TestManifests renders the manifests and decodes them into the API's types.
func TestManifests(t *testing.T) {
	t.Parallel()
	run(t, "go", "-C", "internal/proof/deploy/manifests", "run", ".", "../../../../deploy/kubernetes")
}
