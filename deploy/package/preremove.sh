#!/bin/sh
# Stops and disables the service if the package is removed, but not on an upgrade.
# systemctl disable takes no pattern, so the script lists the enabled replicas.
set -e
if [ "$1" = remove ]; then
	if [ -d /run/systemd/system ]; then
		replicas=$(find /etc/systemd/system -path '*.wants/petstore@*.service' -exec basename {} \;)
		# shellcheck disable=SC2086 # one word each
		systemctl disable petstore-backup.timer petstore.service $replicas
		systemctl stop petstore-backup.timer petstore-backup.service petstore.socket petstore.service 'petstore@*.service'
	fi
	# Otherwise the date of the last backup would alert for ever.
	rm -rf /var/cache/petstore /var/lib/systemd/timers/stamp-petstore-backup.timer
fi
