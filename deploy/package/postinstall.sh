#!/bin/sh
# Creates the user petstore and its data directory. The user has no home, so that no program
# reads configuration there. The script starts and restarts nothing: replicas should be
# restarted one after the other.
set -e
if ! getent group petstore >/dev/null; then
	groupadd --system petstore
fi
if ! getent passwd petstore >/dev/null; then
	useradd --system -g petstore --home-dir /nonexistent --shell /usr/sbin/nologin petstore
fi
install -d -m 0700 -o petstore -g petstore /var/lib/petstore
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
