package edge

import (
	"net"
	"net/url"
)

var errForeignHost = invalidRequest("this sandbox serves only its own machine: the Host must be localhost, 127.0.0.1, [::1] or that of its public address")

// checkHost refuses a Host that is neither this machine's nor the public address's.
// Otherwise the owner of a name could let it point to this machine (DNS rebinding),
// and a page of that name could use a key that is well known.
func checkHost(hostport, publicURL string) error {
	host := (&url.URL{Host: hostport}).Hostname()
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && (ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)) {
		return nil
	}
	if u, err := url.Parse(publicURL); err == nil && u.Hostname() != "" && u.Hostname() == host {
		return nil
	}
	return errForeignHost
}
