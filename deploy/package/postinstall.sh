#!/bin/sh
# Makes the user petstore. It starts and restarts nothing: replicas are restarted
# one after the other, by the operator.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers petstore.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
