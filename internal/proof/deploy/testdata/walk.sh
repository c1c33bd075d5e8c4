# The commands of deploy/README.md, from installation to removal, for a machine that runs
# systemd and has no network. boot.sh runs it with bash -e -x.
fails() { if "$@"; then exit 1; fi; }
# page FILE HEADING PATTERN prints the block of commands under a heading of a page that
# has a line with the pattern, for this machine; run runs it.
page() {
	awk -v heading="$2" -v pattern="$3" '/^#+ / && !code { on = substr($0, index($0, " ") + 1) == heading }
		/^```/ { if (code && found) { printf "%s", block; exit } code = on && /console/; block = ""; found = 0; next }
		code { if ($0 ~ pattern) found = 1; sub(/^[#$] /, ""); block = block $0 "\n" }' "/run/walk/deploy/$1" |
		sed "s/apt-get install \([a-z]\)/apt-get install --no-upgrade \1/; s/HOST=pets\.example\.com/HOST=localhost/; s|live/pets\.example\.com|live/localhost|; s|\./petstore_1.0.0_amd64.deb|/run/walk/.bin/dist/petstore_*.deb|; s/2026-11-21/$(date +%F)/"
}
run() {
	commands=$(page "$@")
	[ -n "$commands" ]
	eval "$commands"
}
mkdir -p /etc/apt/apt.conf.d && echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99walk
curl() { command curl -fsS --insecure "$@"; }
create() { # KEY NAME [URL] creates a pet
	sed "s/NAME/$2/" body.json | curl -H "Authorization: Bearer $1" -d @- -H 'Content-Type: application/json' "${3:-http://127.0.0.1:8080}/v1/pets"
}
list() { curl -H "Authorization: Bearer $1" "${2:-http://127.0.0.1:8080}/v1/pets"; }
as() { runuser -u petstore -- "$@"; }
store=/var/lib/petstore/petstore.db

# Install and run on SQLite.
run README.md 'Install and run' 'keys create' >first.out
KEY=$(grep '^psk_' first.out)
[ "$(stat -c '%U %G %a' /var/lib/petstore)" = 'petstore petstore 700' ]
[ "$(stat -c '%U %a' /etc/petstore/petstore.env)" = 'root 640' ]
echo PETSTORE_DRAIN=1s >>/etc/petstore/petstore.env # to save time
petstore health --admin-addr 127.0.0.1:18080
version=$(dpkg-query -W -f '${Version}' petstore)
petstore --version | grep -F "petstore version $version ("
curl http://127.0.0.1:18080/metrics | grep -F "version=\"$version\""
create "$KEY" Frank
[ "$(stat -c '%U %a' $store)" = 'petstore 600' ]

# Root is refused. While the service is away, its port is not to be had, and clients wait.
fails petstore keys list --store sqlite:$store 2>&1 | grep 'runuser -u petstore --'
for signal in KILL HUP; do
	systemctl kill --kill-who=main -s $signal petstore
	fails as petstore serve --store sqlite:$store 2>&1 | grep 'address already in use'
	list "$KEY" | grep Frank
done
systemctl restart petstore &
while kill -0 $! 2>/dev/null; do list "$KEY" >list.out; done

# Backups, of which fourteen stay when the clock was ahead, and a restore.
backups=/var/lib/petstore/backups backup=$backups/petstore-$(date +%F).db
systemctl start petstore-backup
for day in {10..29}; do as touch -d "2099-01-$day" "$backups/petstore-2099-01-$day.db"; done
systemctl start petstore-backup
[ "$(ls $backups | wc -l)" = 14 ]
runuser -u nobody -- cat /var/cache/petstore/node-exporter/petstore-backup.prom
(run README.md 'Backup and restore' 'petstore verify .*backups')
list "$KEY" | grep Frank
rm $backups/petstore-2099*

# A key that may not write.
READONLY=$(as petstore keys create reader --read-only --store sqlite:$store)
fails create "$READONLY" Frank
journalctl -u petstore | grep '"status":403'

# Remove a pet for legal reasons: its name is in no page of the file.
copy() { # FILE ID N stores a pet N times more
	as sqlite3 -safe "$1" "CREATE TEMP TABLE copy AS SELECT * FROM pets WHERE id = $2; UPDATE copy SET id = NULL;
		INSERT INTO pets SELECT copy.* FROM copy, generate_series(1, $3)"
}
create "$KEY" unwanted | grep '"id":2,'
systemctl stop petstore.socket petstore
copy $store 1 600
grep unwanted $store
as sqlite3 $store 'DELETE FROM pets WHERE id = 2; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'
fails grep unwanted $store*
as sqlite3 -safe -readonly -csv -header $store 'SELECT * FROM pets' | grep '^1,.*Frank'
systemctl start petstore

# A failed backup triggers the notification, and a link does not lead it elsewhere.
mkdir -m 755 /srv/planted
rm -r /var/lib/petstore/backups
as ln -s /srv/planted /var/lib/petstore/backups
fails systemctl start petstore-backup
[ "$(stat -c '%U %a' /srv/planted)" = 'root 755' ]
[ -z "$(ls /srv/planted)" ]
rm /var/lib/petstore/backups
until journalctl -u petstore-backup-failed -p err | grep 'The backup of the pet store failed'; do sleep 0.2; done

# Open to the public behind nginx, with a certificate like certbot's.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" -keyout "$2/key.pem" -out "$2/cert.pem"
}
live=/etc/letsencrypt/live/localhost
mkdir -p $live
renew() {
	certificate "$1" $live
	mv $live/cert.pem $live/fullchain.pem
	mv $live/key.pem $live/privkey.pem
}
renew one
run README.md 'Open to the public' nginx.conf
until curl https://localhost/readyz; do sleep 1; done
fails curl --interface 127.0.0.2 https://localhost/from-another
journalctl -u petstore | grep '"path":"/from-another".*"remote":"127.0.0.2"'
command curl -sS -H "Authorization: Bearer $KEY" http://localhost/v1/pets | grep 'use https'
list "$KEY" https://localhost | grep Frank
command curl -sSi --insecure -H "Authorization: Bearer $KEY" 'https://localhost/v1/pets?limit=1' | grep -i '^link: <https://localhost/v1/pets?'

# Save what can be read of a damaged file, without a backup.
create "$KEY" 'one of many, so that the file has many pages' | grep '"id":603,'
systemctl stop petstore.socket petstore
copy $store 603 3000
as dd if=/dev/urandom of=$store bs=4096 seek=30 count=1 conv=notrunc
fails as petstore verify --store sqlite:$store
(run README.md 'Backup and restore' dump)
saved=$(as sqlite3 -safe $store 'SELECT count(*) FROM pets')
echo "saved $saved of 3602 pets"
[ "$saved" -gt 3240 ]
[ -e /var/lib/petstore/damaged/petstore.db ]
systemctl start petstore
list "$KEY" | grep Frank

# A store elsewhere.
mkdir /srv/pets
mount -t tmpfs -o size=4m,mode=700,uid=petstore,gid=petstore tmpfs /srv/pets
echo 'PETSTORE_STORE=sqlite:/srv/pets/pets.db' >>/etc/petstore/petstore.env
KEY=$(as petstore keys create first --store sqlite:/srv/pets/pets.db)
systemctl restart petstore || true # without ReadWritePaths
until journalctl -u petstore | grep 'read-only file system'; do sleep 0.2; done
for unit in petstore petstore-backup; do
	mkdir -p "/etc/systemd/system/$unit.service.d"
	printf '[Service]\nReadWritePaths=/srv/pets\n' >"/etc/systemd/system/$unit.service.d/override.conf"
done
systemctl daemon-reload
systemctl restart petstore
systemctl start petstore-backup
as petstore verify --store "sqlite:$backup" | grep 'pets: 0,'

# The disk is full, until space is freed.
long=$(printf %05000d)
create "$KEY" "$long"
dd if=/dev/zero of=/srv/pets/fill bs=1024 || true
while create "$KEY" "$long"; do :; done
journalctl -u petstore | grep '"status":503.*the disk is full'
curl http://127.0.0.1:18080/metrics | grep '^petstore_sqlite_disk_full 1$'
rm /srv/pets/fill
create "$KEY" "$long"

# The server itself has the certificate and port 443. It notices a renewal.
shows() { openssl s_client -connect 127.0.0.1:443 </dev/null 2>&1 | grep "subject=CN = $1"; }
systemctl stop nginx
run README.md 'Open to the public' ListenStream
shows one
renew two
RENEWED_LINEAGE=$live /etc/letsencrypt/renewal-hooks/deploy/petstore
until shows two; do sleep 0.2; done

# A secret in a file, which only root can read.
rm -r /etc/systemd/system/petstore.socket.d
sed -i '/PETSTORE_TLS/d' /etc/petstore/petstore.env
install -m 600 /dev/stdin /etc/petstore/secrets/keys <<<'a-fixed-key-for-this-walk'
echo 'Environment=PETSTORE_API_KEYS_FILE=%d/secrets_keys' >>/etc/systemd/system/petstore.service.d/override.conf
systemctl daemon-reload
systemctl restart petstore.socket petstore
list a-fixed-key-for-this-walk | grep "$long"
rm -r /etc/systemd/system/petstore*.d
systemctl daemon-reload

if [ -e postgres.sh ]; then . ./postgres.sh; fi

# Remove.
apt-get remove petstore
for unit in petstore@8081 petstore@8082 petstore petstore-backup.timer; do
	fails systemctl is-active "$unit"
done
fails ls /etc/systemd/system/*.wants/petstore*
[ -e $store ]
apt-get purge petstore
[ ! -e /etc/petstore/petstore.env ]
[ -e $store ]
