#!/bin/sh
# Has the kernel refuse connections to HTTPS beyond 100 from one IPv4 address or
# one IPv6 network of 64 bits. Run it as root at every start, before the proxy.
# A second run changes nothing.
set -e
limit() {
	command=$1 mask=$2
	set -- INPUT -p tcp --syn --dport 443 -m connlimit \
		--connlimit-above 100 --connlimit-mask "$mask" -j REJECT --reject-with tcp-reset
	"$command" -C "$@" 2>/dev/null || "$command" -I "$@"
}
limit iptables 32
limit ip6tables 64
