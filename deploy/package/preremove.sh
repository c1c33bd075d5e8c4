#!/bin/sh
# Stops the service where the package goes for good ("remove" of dpkg, 0 of rpm),
# not where another version takes its place.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now petstore-backup.timer petstore.service 'petstore@*.service'
	fi
	;;
esac
