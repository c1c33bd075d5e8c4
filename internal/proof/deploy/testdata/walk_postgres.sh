# The commands of deploy/postgres.md, for walk.sh.

# PostgreSQL with two replicas behind Caddy.
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
run postgres.md 'Two replicas on one machine' createdb >first.out
KEY=$(grep '^psk_' first.out)
export PGPASSFILE=/etc/petstore/secrets/pgpass
petstore health --admin-addr 127.0.0.1:18081
PGPASSWORD=wrong petstore keys list --store postgres://petstore@localhost/pets 2>&1 | grep 'password authentication failed'
printf '[Service]\nEnvironment=PETSTORE_HOST=localhost\n' >/etc/systemd/system/caddy.service.d/host.conf
systemctl daemon-reload && systemctl restart caddy
until curl https://localhost/readyz; do sleep 1; done
curl -H "Authorization: Bearer $KEY" -d '{"name": "Ginger", "categoryId": 1}' -H 'Content-Type: application/json' https://localhost/v1/pets
run postgres.md 'Two replicas on one machine' prometheus
until promtool query instant http://127.0.0.1:9090 'sum(petstore_ready)' | grep '=> 2'; do sleep 1; done

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

# Back up, and roll back on PostgreSQL, but keep the pets added after the dump.
run postgres.md 'Backup and restore' node-exporter
(run postgres.md 'Backup and restore' pg_restore)
until promtool query instant http://127.0.0.1:9090 'time() - node_textfile_mtime_seconds{file=~".*/petstore-dump.prom"} < 100' | grep '=>'; do sleep 1; done
until curl -H "Authorization: Bearer $KEY" -d '{"name": "Later", "categoryId": 1}' -H 'Content-Type: application/json' https://localhost/v1/pets; do sleep 1; done
systemctl stop petstore@8081 petstore@8082
petstore export --store postgres://petstore@localhost/pets later.ndjson
psql -h localhost -U petstore -d restored -c 'TRUNCATE pets'
petstore import --restore --store postgres://petstore@localhost/restored later.ndjson
sed -i 's|localhost/pets$|localhost/restored|' /etc/petstore/petstore.env
systemctl start petstore@8081 petstore@8082
until curl https://localhost/readyz; do sleep 1; done
curl -H "Authorization: Bearer $KEY" https://localhost/v1/pets | grep 'Ginger.*Later'

# Upgrade, one replica after the other.
apt-get install --reinstall ./.bin/dist/petstore_*.deb
for port in 8081 8082; do
	systemctl restart petstore@$port
	sleep 3
done
curl -H "Authorization: Bearer $KEY" https://localhost/v1/pets | grep Ginger
journalctl -u 'petstore*' | grep 'petstore@8082'
