package edge

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
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
	ip := addressOf(address)
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// networkOf returns the payer that an address, with or without a port, stands for: of
// IPv6 the network of 64 bits, since a single client has all of it.
func networkOf(address string) string {
	ip := addressOf(address).WithZone("")
	switch {
	case !ip.IsValid():
		return ""
	case ip.Is4():
		return ip.String()
	}
	network, _ := ip.Prefix(64) // which every address of IPv6 has
	return network.String()
}

// addressOf reads an address, with or without a port: the zero Addr where it is none.
func addressOf(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, _ := netip.ParseAddr(text) // the zero Addr where it fails
	return ip.Unmap()
}
