#!/bin/sh
# Makes the user petstore. Starts nothing: there is no key and no store yet.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers petstore.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart petstore.service
fi
