package served_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/petstoretest"
)

func TestOnlyATrustedProxyTellsTheLogAClientsAddress(t *testing.T) {
	t.Parallel()
	const own = "127.0.0.1" // of the peer, as it is
	for name, c := range map[string]struct {
		trusted string
		headers []string
		want    string
	}{
		"nobody is trusted":              {"", []string{"203.0.113.7"}, own},
		"another one is trusted":         {"10.0.0.0/8", []string{"203.0.113.7"}, own},
		"a trusted proxy":                {"127.0.0.1/32", []string{"203.0.113.7"}, "203.0.113.7"},
		"a trusted proxy, IPv6":          {"127.0.0.1/32", []string{"2001:db8::7"}, "2001:db8::7"},
		"no header":                      {"127.0.0.1/32", nil, own},
		"an empty one":                   {"127.0.0.1/32", []string{""}, own},
		"a chain of trusted proxies":     {"127.0.0.1/32 10.0.0.0/8", []string{"203.0.113.7, 10.0.0.2, 10.0.0.1"}, "203.0.113.7"},
		"a chain in two headers":         {"127.0.0.1/32 10.0.0.0/8", []string{"203.0.113.7", "10.0.0.1"}, "203.0.113.7"},
		"an address the client made up":  {"127.0.0.1/32 10.0.0.0/8", []string{"198.51.100.1, 203.0.113.7, 10.0.0.1"}, "203.0.113.7"},
		"trusted addresses alone":        {"127.0.0.1/32 10.0.0.0/8", []string{"10.0.0.2, 10.0.0.1"}, "10.0.0.2"},
		"junk":                           {"127.0.0.1/32", []string{"\"><script>"}, own},
		"junk before a trusted proxy":    {"127.0.0.1/32 10.0.0.0/8", []string{"junk, 10.0.0.1"}, own},
		"junk before a client's address": {"127.0.0.1/32", []string{"junk, 203.0.113.7"}, "203.0.113.7"},
		"a name":                         {"127.0.0.1/32", []string{"client.example.com"}, own},
		"a comma alone":                  {"127.0.0.1/32", []string{","}, own},
		"a mapped address of a proxy":    {"127.0.0.1/32 10.0.0.0/8", []string{"203.0.113.7, ::ffff:10.0.0.1"}, "203.0.113.7"},
		"more addresses than anyone has": {"127.0.0.1/32 10.0.0.0/8", []string{"203.0.113.7" + strings.Repeat(", 10.0.0.1", 1000)}, "203.0.113.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(cfg *petstoretest.Config) {
				for _, network := range strings.Fields(c.trusted) {
					cfg.TrustedProxies = append(cfg.TrustedProxies, netip.MustParsePrefix(network))
				}
			})
			var headers []string
			for _, h := range c.headers {
				headers = append(headers, "X-Forwarded-For: "+h)
			}
			s.get(t, petsPath, headers...)
			got, _ := s.log.wantLines(t, 1)[0]["remote"].(string)
			if host, _, err := net.SplitHostPort(got); err == nil && c.want == own {
				got = host
			}
			if got != c.want {
				t.Errorf("the client's address in the log: got %q, want %q", got, c.want)
			}
		})
	}
}
