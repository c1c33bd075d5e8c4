#!/bin/sh
# Creates the user petstore and its data directory. It starts and restarts
# nothing: replicas should be restarted one after the other.
set -e
if ! getent passwd petstore >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/petstore --shell /usr/sbin/nologin petstore
fi
install -d -m 0700 -o petstore -g petstore /var/lib/petstore
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
