# The commands of deploy/README.md, from installation to removal, for a machine that
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

# Roll back, but keep the animals added after the backup.
curl -H "Authorization: Bearer $KEY" -d '{"name": "Later", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
systemctl stop petstore
(
	cd /var/lib/petstore
	petstore export --store sqlite:petstore.db later.ndjson
	petstore restore --store sqlite:petstore.db --force "$backup"
	sqlite3 petstore.db 'DELETE FROM pets; DELETE FROM sqlite_sequence'
	petstore import --restore --store sqlite:petstore.db later.ndjson
	chown petstore:petstore petstore.db*
)
systemctl start petstore
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep 'Frank.*Later'

# A failed backup triggers the notification.
rm -r /var/lib/petstore/backups
touch /var/lib/petstore/backups
fails systemctl start petstore-backup
rm /var/lib/petstore/backups
until journalctl -u petstore-backup-failed -p err | grep 'backup of the pet store failed'; do sleep 0.2; done

# PostgreSQL with two replicas behind Caddy, and Prometheus.
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
PASSWORD=$(openssl rand -hex 16)
runuser -u postgres -- psql -c "CREATE ROLE petstore LOGIN PASSWORD '$PASSWORD'"
runuser -u postgres -- createdb -O petstore -E UTF8 -T template0 pets
install -m 600 /dev/stdin /etc/petstore/secrets/pgpass <<<"localhost:5432:pets:petstore:$PASSWORD"
echo 'PETSTORE_STORE=postgres://petstore@localhost/pets' >>/etc/petstore/petstore.env
echo 'PETSTORE_PUBLIC_URL=https://localhost/v1' >>/etc/petstore/petstore.env
echo 'PETSTORE_TRUSTED_PROXIES=127.0.0.1' >>/etc/petstore/petstore.env
KEY=$(PGPASSFILE=/etc/petstore/secrets/pgpass petstore keys create first --store postgres://petstore@localhost/pets)
systemctl enable --now petstore@8081 petstore@8082
petstore health --addr 127.0.0.1:8081
cp /usr/share/doc/petstore/deploy/proxy/Caddyfile /etc/caddy/Caddyfile
mkdir -p /etc/systemd/system/caddy.service.d
printf '[Service]\nEnvironment=PETSTORE_HOST=localhost\n' >/etc/systemd/system/caddy.service.d/host.conf
systemctl daemon-reload
systemctl restart caddy
sh /usr/share/doc/petstore/deploy/proxy/limit-connections.sh
until curl https://localhost/readyz; do sleep 1; done
curl -H "Authorization: Bearer $KEY" -d '{"name": "Ginger", "categoryId": 1}' -H 'Content-Type: application/json' https://localhost/v1/pets
cp /usr/share/doc/petstore/deploy/prometheus/{prometheus,alerts}.yml /etc/prometheus/
echo 'ARGS="--web.listen-address=127.0.0.1:9090"' >>/etc/default/prometheus
systemctl restart prometheus
until promtool query instant http://127.0.0.1:9090 'sum(petstore_ready)' | grep '=> 2'; do sleep 1; done

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
