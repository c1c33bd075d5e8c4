#!/bin/sh
# Makes the user petstore and the folder of its data. It starts and restarts
# nothing, since replicas are restarted one after the other.
set -e
if ! getent passwd petstore >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/petstore --shell /usr/sbin/nologin petstore
fi
install -d -m 0700 -o petstore -g petstore /var/lib/petstore
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
