package deploy

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/service"
)

// TestLimits checks that the document, nginx and the page of operators have the limits of
// the service. Those of nginx are higher, so that the service answers itself.
func TestLimits(t *testing.T) {
	size, seconds := fmt.Sprintf("%d KiB", service.MaxBody>>10), func(d time.Duration) string { return fmt.Sprint(d.Seconds()) }
	for file, wants := range map[string][]string{
		"openapi.yaml":     {"larger than " + size, fmt.Sprintf("larger than %d bytes", service.MaxBody)},
		"deploy/README.md": {"| body | " + size, "| work on a request | " + seconds(service.Timeout) + " s"},
		"deploy/proxy/nginx.conf": {
			"larger than " + size, fmt.Sprintf("client_max_body_size %dm;", service.MaxBody>>20+1),
			"proxy_read_timeout " + seconds(service.Timeout+7*time.Second) + "s;",
		},
	} {
		text, err := os.ReadFile("../../../" + file)
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: got no %q, which follows from the limits of service, error %v", file, want, err)
			}
		}
	}
}
