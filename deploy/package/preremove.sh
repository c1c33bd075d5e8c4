#!/bin/sh
# Stops and disables the service if the package is removed ("remove" from dpkg, 0
# from rpm), but not on an upgrade. systemctl disable takes no pattern, so the
# script lists the enabled replicas.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		replicas=$(find /etc/systemd/system -path '*.wants/petstore@*.service' -exec basename {} \;)
		# shellcheck disable=SC2086 # one word each
		systemctl disable petstore-backup.timer petstore.service $replicas
		systemctl stop petstore-backup.timer petstore.service 'petstore@*.service'
	fi
	;;
esac
