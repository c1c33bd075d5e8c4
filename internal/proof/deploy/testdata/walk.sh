# The commands of deploy/README.md, from installation to removal, for a machine that runs
# systemd and has no network. boot.sh runs it with bash -e -x.
fails() { if "$@"; then exit 1; fi; }
# page FILE HEADING PATTERN prints the block of commands under a heading of a page that
# has a line with the pattern, for this machine; run runs it.
page() {
	awk -v heading="$2" -v pattern="$3" '/^#+ / && !code { on = substr($0, index($0, " ") + 1) == heading }
		/^```/ { if (code && found) { printf "%s", block; exit } code = on && /console/; block = ""; found = 0; next }
		code { if ($0 ~ pattern) found = 1; sub(/^[#$] /, ""); block = block $0 "\n" }' "/run/walk/deploy/$1" |
		sed "s/apt-get install \([a-z]\)/apt-get install --no-upgrade \1/; s/pets\.example\.com/localhost/g; s/2026-11-21/$(date +%F)/; s|\./petstore_1.0.0_amd64.deb|/run/walk/.bin/dist/petstore_*.deb|"
}
run() {
	commands=$(page "$@")
	[ -n "$commands" ]
	eval "$commands"
}
mkdir -p /etc/apt/apt.conf.d && echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99walk
curl() { command curl -fsS --insecure "$@"; }

# Install and run on SQLite.
run README.md 'Install and run' 'keys create' >first.out
KEY=$(grep '^psk_' first.out)
[ "$(stat -c '%U %G %a' /var/lib/petstore)" = 'petstore petstore 700' ]
echo PETSTORE_DRAIN=1s >>/etc/petstore/petstore.env # to save time
petstore health --admin-addr 127.0.0.1:18080
version=$(dpkg-query -W -f '${Version}' petstore)
petstore --version | grep -F "petstore version $version ("
curl http://127.0.0.1:18080/metrics | grep -F "version=\"$version\""
curl -H "Authorization: Bearer $KEY" -d '{"name": "Frank", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
[ "$(stat -c '%U %a' /var/lib/petstore/petstore.db)" = 'petstore 600' ]

# A second server on the same port, and a backup.
petstore serve --store sqlite:/var/lib/petstore/petstore.db 2>&1 | grep 'address already in use'
systemctl start petstore-backup
backup=/var/lib/petstore/backups/petstore-$(date +%F).db
run README.md 'Backup and restore' 'petstore verify .*backups'
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep Frank

# A key that may not write.
READONLY=$(petstore keys create reader --read-only --store sqlite:/var/lib/petstore/petstore.db)
fails curl -H "Authorization: Bearer $READONLY" -d '{"name": "Frank", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
journalctl -u petstore | grep '"status":403'

# Roll back, but keep the pets added after the backup.
curl -H "Authorization: Bearer $KEY" -d '{"name": "Later", "categoryId": 1}' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets
(run README.md 'Upgrade and roll back' later.ndjson)
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
until journalctl -u petstore-backup-failed -p err | grep 'The backup of the pet store failed'; do sleep 0.2; done

# Open to the public behind Caddy, and watched.
run README.md 'Open to the public' limit-connections
iptables -N DOCKER-USER
ip6tables -N DOCKER-USER
CHAIN=DOCKER-USER sh /usr/share/doc/petstore/deploy/proxy/limit-connections.sh
for chain in INPUT DOCKER-USER; do iptables -S "$chain" | grep 'connlimit-above 100'; done
until curl https://localhost/readyz; do sleep 1; done
fails curl --interface 127.0.0.2 https://localhost/from-another
journalctl -u petstore | grep '"path":"/from-another".*"remote":"127.0.0.2"'
cp /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt /usr/local/share/ca-certificates/caddy.crt
update-ca-certificates
systemctl start prometheus-blackbox-exporter prometheus-node-exporter # as their installation does
echo 'ARGS="--web.listen-address=127.0.0.1:9090"' >>/etc/default/prometheus
run README.md 'What to watch' petstore-proxy
until promtool query instant http://127.0.0.1:9090 'sum(petstore_ready)' | grep '=> 1'; do sleep 1; done
curl http://127.0.0.1:9090/api/v1/rules | grep '"interval":15,'
until promtool query instant http://127.0.0.1:9090 probe_success | grep '=> 1'; do sleep 1; done
until curl http://127.0.0.1:9090/api/v1/alerts | grep PetstoreProxyCertificateExpires; do sleep 1; done # Caddy's own lasts for hours
until curl http://127.0.0.1:9090/api/v1/alertmanagers | grep 127.0.0.1:9093; do sleep 1; done

# Save what can be read of a damaged file, without a backup.
seq 3000 | sed 's/.*/{"name": "number & of many, so that the file has many pages", "categoryId": 1}/' >pets.ndjson
runuser -u petstore -- petstore import --format ndjson --store sqlite:/var/lib/petstore/petstore.db - <pets.ndjson
systemctl stop petstore
cd /var/lib/petstore
all=$(sqlite3 petstore.db 'SELECT count(*) FROM pets')
dd if=/dev/urandom of=petstore.db bs=4096 seek=30 count=1 conv=notrunc
fails petstore verify --store sqlite:petstore.db
(run README.md 'Backup and restore' dump)
saved=$(sqlite3 petstore.db 'SELECT count(*) FROM pets')
echo "saved $saved of $all pets"
[ "$saved" -gt $((all * 9 / 10)) ]
[ -e damaged/petstore.db ]
cd /run/walk
systemctl start petstore
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/v1/pets | grep Frank

# A store elsewhere, made by root, and certificates: files that are reloaded, and copies of secrets.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" -keyout "$2/key.pem" -out "$2/cert.pem"
}
shows() { openssl s_client -connect 127.0.0.1:443 </dev/null 2>&1 | grep "subject=CN = $1"; }
mkdir /srv/pets
mount -t tmpfs -o size=4m,mode=700,uid=petstore,gid=petstore tmpfs /srv/pets
echo 'PETSTORE_STORE=sqlite:/srv/pets/pets.db' >>/etc/petstore/petstore.env
petstore keys create first --store sqlite:/srv/pets/pets.db
petstore backup --store sqlite:/srv/pets/pets.db /tmp/pets.db
petstore restore --store sqlite:/srv/pets/restored.db /tmp/pets.db
[ "$(stat -c %U /srv/pets/{pets,restored}.db /tmp/pets.db | uniq)" = petstore ]
systemctl restart petstore || true # without ReadWritePaths
until journalctl -u petstore | grep 'read-only file system'; do sleep 0.2; done
for unit in petstore petstore-backup; do
	mkdir -p "/etc/systemd/system/$unit.service.d"
	printf '[Service]\nReadWritePaths=/srv/pets\n' >"/etc/systemd/system/$unit.service.d/override.conf"
done
systemctl daemon-reload
systemctl restart petstore
systemctl start petstore-backup
petstore verify --store "sqlite:$backup" | grep ' 0 '

# The disk is full, until space is freed.
KEY=$(petstore keys create full --store sqlite:/srv/pets/pets.db)
create() {
	curl -H "Authorization: Bearer $KEY" -d "{\"name\": \"$(printf %05000d)\", \"categoryId\": 1}" -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/pets -o /dev/null
}
create
dd if=/dev/zero of=/srv/pets/fill bs=1024 || true
while create; do :; done
journalctl -u petstore | grep '"status":503.*the disk is full'
until curl http://127.0.0.1:9090/api/v1/alerts | grep PetstoreDiskFull; do sleep 1; done
rm /srv/pets/fill
create

# The server itself has the certificate and port 443. A renewal is noticed.
systemctl stop caddy
live=/etc/letsencrypt/live/localhost
mkdir -p $live
renew() {
	certificate "$1" $live
	mv $live/cert.pem $live/fullchain.pem
	mv $live/key.pem $live/privkey.pem
}
renew one
run README.md 'Open to the public' CAP_NET_BIND_SERVICE
shows one
renew two
RENEWED_LINEAGE=$live /etc/letsencrypt/renewal-hooks/deploy/petstore
until shows two; do sleep 0.2; done
sed -i 's|/etc/petstore/tls/|${CREDENTIALS_DIRECTORY}/secrets_|g' /etc/systemd/system/petstore.service.d/https.conf
systemctl daemon-reload
for name in three four; do
	certificate $name /etc/petstore/secrets
	systemctl restart petstore
	shows $name
done
rm -r /etc/systemd/system/petstore{,-backup}.service.d /etc/petstore/secrets/*
systemctl daemon-reload

if [ -e walk_postgres.sh ]; then . ./walk_postgres.sh; fi

# Remove.
apt-get remove petstore
for unit in petstore@8081 petstore@8082 petstore petstore-backup.timer; do
	fails systemctl is-active "$unit"
done
fails ls /etc/systemd/system/*.wants/petstore*
[ -e /var/lib/petstore/petstore.db ]
apt-get purge petstore
[ ! -e /etc/petstore/petstore.env ]
[ -e /var/lib/petstore/petstore.db ]
