package edge

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the networks of proxies whose X-Forwarded-For is believed.
type proxies []netip.Prefix

// remote returns the address of the client that sent r. It is the peer's address or,
// behind a trusted proxy, the last address in X-Forwarded-For that is no trusted
// proxy's. The header of any other peer is ignored.
func (p proxies) remote(r *http.Request) string {
	if len(p) == 0 || !p.trusts(r.RemoteAddr) {
		return r.RemoteAddr
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		if _, err := netip.ParseAddr(hop); err != nil {
			break // a malformed entry ends the chain
		}
		if i == 0 || !p.trusts(hop) {
			return hop
		}
	}
	return r.RemoteAddr
}

// trusts reports whether an address, with or without a port, is one of theirs.
func (p proxies) trusts(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	for _, network := range p {
		if network.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

// networkOf returns the payer that an address, with or without a port, stands for: of
// IPv6 the network of 64 bits, since a single client has all of it.
func networkOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // which every address of IPv6 has
	return network.String()
}
