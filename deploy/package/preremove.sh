#!/bin/sh
# Stops and disables the service if the package is removed ("remove" of dpkg, 0 of
# rpm), and not if another version takes its place. systemctl disable takes no
# pattern, so the enabled replicas are listed.
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
