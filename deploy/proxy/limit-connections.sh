#!/bin/sh
# Makes the kernel refuse more than 100 connections to ports 80 and 443 from one IPv4 address
# or one IPv6 /64. Run it as root after each boot; a second run changes nothing.
# For ports that Docker publishes, set CHAIN=DOCKER-USER.
set -e
limit() {
	command=$1 mask=$2
	set -- "${CHAIN:-INPUT}" -p tcp --syn -m multiport --dports 80,443 -m connlimit \
		--connlimit-above 100 --connlimit-mask "$mask" -j REJECT --reject-with tcp-reset
	"$command" -C "$@" 2>/dev/null || "$command" -I "$@"
}
limit iptables 32
limit ip6tables 64
