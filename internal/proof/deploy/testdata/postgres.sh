# The commands of deploy/postgres/README.md, for walk.sh.

# PostgreSQL with two replicas behind nginx.
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
run postgres/README.md 'Two replicas on one machine' createdb >first.out
KEY=$(grep '^psk_' first.out)
export PGPASSFILE=/etc/petstore/secrets/pgpass
petstore health --admin-addr 127.0.0.1:18081
PGPASSWORD=wrong petstore keys list --store postgres://petstore@localhost/pets 2>&1 | grep 'password authentication failed'
run postgres/README.md 'Two replicas on one machine' nginx
until curl https://localhost/readyz; do sleep 1; done
create "$KEY" Ginger https://localhost
grep -c 'server 127.0.0.1:808[12] fail_timeout=2s;' /etc/nginx/conf.d/petstore.conf | grep 2

# The store on SQLite moves to another database, and back.
runuser -u postgres -- createdb -O petstore -E UTF8 -T template0 moved
copy=$(page postgres/README.md 'Move from SQLite, and back' copy | sed '/systemctl/d')
eval "${copy/localhost\/pets/localhost\/moved}"
PGPASSWORD=$(cut -d: -f5 $PGPASSFILE) as petstore copy --from postgres://petstore@localhost/moved --to sqlite:/var/lib/petstore/back.db
all='SELECT * FROM pets; SELECT id, hash FROM keys; SELECT seq FROM sqlite_sequence'
[ "$(as sqlite3 -safe $store "$all")" = "$(as sqlite3 -safe /var/lib/petstore/back.db "$all")" ]

# PostgreSQL is away when a replica starts, for more tries than systemd allows by
# default, and comes back.
[ "$(systemctl show --value -p RestartUSec petstore@8081)" = 5s ]
mkdir -p /run/systemd/system/petstore@8081.service.d
printf '[Service]\nRestartSec=0.1s\n' >/run/systemd/system/petstore@8081.service.d/soon.conf
systemctl daemon-reload
systemctl stop postgresql petstore@8081
systemctl start --no-block petstore@8081
until [ "$(systemctl show --value -p NRestarts petstore@8081)" -gt 8 ]; do
	fails systemctl is-failed petstore@8081
	sleep 0.1
done
journalctl -u petstore@8081 | grep 'no writable primary can be reached'
systemctl start postgresql
until petstore health --admin-addr 127.0.0.1:18081; do sleep 0.2; done

# Back up, and restore into another database.
mkdir -p /var/lib/prometheus/node-exporter
run postgres/README.md 'Backup and restore' backup-postgres
systemctl start petstore-backup
[ -e /var/lib/prometheus/node-exporter/petstore-dump.prom ]
(run postgres/README.md 'Backup and restore' pg_restore)
sed -i 's|localhost/pets$|localhost/restored|' /etc/petstore/petstore.env
(run postgres/README.md 'After a recovery' setval)

# Upgrade, one replica after the other.
apt-get install --reinstall ./.bin/dist/petstore_*.deb
for port in 8081 8082; do
	systemctl restart petstore@$port
	sleep 3
done
list "$KEY" https://localhost | grep Ginger
journalctl -u 'petstore*' | grep 'petstore@8082'
