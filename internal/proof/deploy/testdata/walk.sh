# The commands of deploy/README.md and deploy/postgres.md, from installation to removal, for a machine that
# runs systemd and has no network. boot.sh runs it with bash -e -x.
fails() { if "$@"; then exit 1; fi; }
curl() { command curl -fsS --insecure "$@"; }

# Install and run on SQLite.
apt-get install -y ./petstore.deb
[ "$(stat -c '%U %G %a' /var/lib/petstore)" = 'petstore petstore 700' ]
echo PETSTORE_DRAIN=1s >>/etc/petstore/petstore.env # to save time
KEY=$(runuser -u petstore -- petstore keys create first --store sqlite:/var/lib/petstore/petstore.db)
systemctl enable --now petstore petstore-backup.timer
petstore health
petstore health --admin-addr 127.0.0.1:18080
curl -H "Authorization: Bearer $KEY" -d '{"name": "Frank", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
[ "$(stat -c '%U %a' /var/lib/petstore/petstore.db)" = 'petstore 600' ]

# Back up and restore.
systemctl start petstore-backup
backup=/var/lib/petstore/backups/petstore-$(date +%F).db
petstore verify --store "sqlite:$backup"
systemctl stop petstore
runuser -u petstore -- petstore restore --store sqlite:/var/lib/petstore/petstore.db --force "$backup"
systemctl start petstore
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep Frank

# Roll back, but keep the pets added after the backup.
curl -H "Authorization: Bearer $KEY" -d '{"name": "Later", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
systemctl stop petstore
(
	cd /var/lib/petstore
	petstore verify --store sqlite:petstore.db && petstore export --store sqlite:petstore.db later.ndjson
	petstore restore --store sqlite:petstore.db --force "$backup"
	sqlite3 petstore.db 'DELETE FROM pets; DELETE FROM sqlite_sequence'
	petstore import --restore --store sqlite:petstore.db later.ndjson
	chown petstore:petstore petstore.db*
)
systemctl start petstore
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep 'Frank.*Later'

# Remove a pet for legal reasons: its name is in no page of the file.
systemctl stop petstore
(
	cd /var/lib/petstore
	(echo name,categoryId; seq -f 'unwanted %03g,1' 600) | petstore import - --store sqlite:petstore.db
	id=$(sqlite3 petstore.db "SELECT id FROM pets WHERE name = 'unwanted 050'")
	sqlite3 petstore.db "DELETE FROM pets WHERE id = $id; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"
	fails grep 'unwanted 050' petstore.db*
	chown petstore:petstore petstore.db*
)
systemctl start petstore

# A failed backup triggers the notification.
rm -r /var/lib/petstore/backups
touch /var/lib/petstore/backups
fails systemctl start petstore-backup
rm /var/lib/petstore/backups
until journalctl -u petstore-backup-failed -p err | grep 'backup of the pet store failed'; do sleep 0.2; done

# Open to the public behind Caddy, and watched.
cp /usr/share/doc/petstore/deploy/proxy/Caddyfile /etc/caddy/Caddyfile
mkdir -p /etc/systemd/system/caddy.service.d
printf '[Service]\nEnvironment=PETSTORE_HOST=localhost PETSTORE_REPLICAS=127.0.0.1:8080\n' >/etc/systemd/system/caddy.service.d/host.conf
systemctl daemon-reload && systemctl restart caddy
sh /usr/share/doc/petstore/deploy/proxy/limit-connections.sh
iptables -N DOCKER-USER
ip6tables -N DOCKER-USER
CHAIN=DOCKER-USER sh /usr/share/doc/petstore/deploy/proxy/limit-connections.sh
for chain in INPUT DOCKER-USER; do iptables -S "$chain" | grep 'connlimit-above 100'; done
until curl https://localhost/readyz; do sleep 1; done
cp /usr/share/doc/petstore/deploy/prometheus/{prometheus,alerts}.yml /etc/prometheus/
echo 'ARGS="--web.listen-address=127.0.0.1:9090"' >>/etc/default/prometheus
systemctl restart prometheus
until promtool query instant http://127.0.0.1:9090 'sum(petstore_ready)' | grep '=> 1'; do sleep 1; done
until curl http://127.0.0.1:9090/api/v1/alertmanagers | grep 127.0.0.1:9093; do sleep 1; done

# Save what can be read of a damaged file, without a backup.
seq 3000 | sed 's/.*/{"name": "number & of many, so that the file has many pages", "categoryId": 1}/' >pets.ndjson
runuser -u petstore -- petstore import --format ndjson --store sqlite:/var/lib/petstore/petstore.db - <pets.ndjson
systemctl stop petstore
runuser -u petstore -- sh -ex <<'EOF'
cd /var/lib/petstore
all=$(sqlite3 petstore.db 'SELECT count(*) FROM pets')
dd if=/dev/urandom of=petstore.db bs=4096 seek=30 count=1 conv=notrunc
if petstore verify --store sqlite:petstore.db; then exit 1; fi
sqlite3 petstore.db .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 saved.db
petstore verify --store sqlite:saved.db
saved=$(sqlite3 saved.db 'SELECT count(*) FROM pets')
echo "saved $saved of $all pets"
[ "$saved" -gt $((all * 9 / 10)) ]
petstore restore --store sqlite:petstore.db --force saved.db
EOF
systemctl start petstore
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep Frank

# A store elsewhere, and certificates: files that are reloaded, and copies of secrets.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" -keyout "$2/key.pem" -out "$2/cert.pem"
}
shows() { openssl s_client -connect 127.0.0.1:8080 </dev/null 2>&1 | grep "subject=CN = $1"; }
install -d -o petstore -m 700 /srv/pets
echo 'PETSTORE_STORE=sqlite:/srv/pets/pets.db' >>/etc/petstore/petstore.env
runuser -u petstore -- petstore keys create first --store sqlite:/srv/pets/pets.db
for unit in petstore petstore-backup; do
	mkdir -p "/etc/systemd/system/$unit.service.d"
	printf '[Service]\nReadWritePaths=/srv/pets\n' >"/etc/systemd/system/$unit.service.d/override.conf"
done
echo 'Environment=PETSTORE_TLS_CERT=/etc/petstore/tls/cert.pem PETSTORE_TLS_KEY=/etc/petstore/tls/key.pem' >>/etc/systemd/system/petstore.service.d/override.conf
install -d -g petstore -m 750 /etc/petstore/tls
certificate one /etc/petstore/tls
chgrp petstore /etc/petstore/tls/key.pem
chmod 640 /etc/petstore/tls/key.pem
systemctl daemon-reload
systemctl restart petstore
systemctl start petstore-backup
petstore verify --store "sqlite:$backup" | grep ' 0 '
shows one
certificate two /etc/petstore/tls
until shows two; do sleep 0.2; done
sed -i 's|/etc/petstore/tls/|%d/secrets_|g' /etc/systemd/system/petstore.service.d/override.conf
systemctl daemon-reload
for name in three four; do
	certificate $name /etc/petstore/secrets
	systemctl restart petstore
	shows $name
done
rm -r /etc/systemd/system/petstore{,-backup}.service.d /etc/petstore/secrets/*
systemctl daemon-reload

# PostgreSQL with two replicas behind Caddy.
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
PASSWORD=$(openssl rand -hex 16)
runuser -u postgres -- psql -c "CREATE ROLE petstore LOGIN PASSWORD '$PASSWORD'"
runuser -u postgres -- createdb -O petstore -E UTF8 -T template0 pets
install -m 600 /dev/stdin /etc/petstore/secrets/pgpass <<<"localhost:5432:*:petstore:$PASSWORD"
echo 'PETSTORE_STORE=postgres://petstore@localhost/pets' >>/etc/petstore/petstore.env
echo 'PETSTORE_PUBLIC_URL=https://localhost/v1' >>/etc/petstore/petstore.env
echo 'PETSTORE_TRUSTED_PROXIES=127.0.0.1' >>/etc/petstore/petstore.env
export PGPASSFILE=/etc/petstore/secrets/pgpass
KEY=$(petstore keys create first --store postgres://petstore@localhost/pets)
systemctl enable --now petstore@8081 petstore@8082
petstore health --admin-addr 127.0.0.1:18081
PGPASSWORD=wrong petstore keys list --store postgres://petstore@localhost/pets 2>&1 | grep 'password authentication failed'
printf '[Service]\nEnvironment=PETSTORE_HOST=localhost\n' >/etc/systemd/system/caddy.service.d/host.conf
systemctl daemon-reload && systemctl restart caddy
until curl https://localhost/readyz; do sleep 1; done
curl -H "Authorization: Bearer $KEY" -d '{"name": "Ginger", "categoryId": 1}' -H 'Content-Type: application/json' https://localhost/v1/pets
sed -i "s/'127.0.0.1:18080'/'127.0.0.1:18081', '127.0.0.1:18082'/" /etc/prometheus/prometheus.yml && systemctl restart prometheus
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

# Roll back on PostgreSQL, but keep the pets added after the dump.
runuser -u postgres -- sh -c 'cd /tmp && pg_dump -Fc -f pets.dump pets && createdb -O petstore -E UTF8 -T template0 restored &&
	pg_restore --exit-on-error --single-transaction --no-owner --role petstore -d restored pets.dump'
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
apt-get install -y --reinstall ./petstore.deb
for port in 8081 8082; do
	systemctl restart petstore@$port
	sleep 3
done
curl -H "Authorization: Bearer $KEY" https://localhost/v1/pets | grep Ginger
journalctl -u 'petstore*' | grep 'petstore@8082'

# Remove.
apt-get remove -y petstore
for unit in petstore@8081 petstore@8082 petstore petstore-backup.timer; do
	fails systemctl is-active "$unit"
done
fails ls /etc/systemd/system/*.wants/petstore*
[ -e /var/lib/petstore/petstore.db ]
