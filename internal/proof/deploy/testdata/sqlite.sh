# The commands of deploy/sqlite/README.md, for walk.sh.
page=sqlite/README.md store=/var/lib/petstore/petstore.db

# Run on SQLite.
run $page 'Create the store' 'keys create' >first.out
KEY=$(grep '^psk_' first.out)
curl http://127.0.0.1:18080/metrics | grep -F "version=\"$version\""
create "$KEY" Frank
[ "$(stat -c '%U %a' $store)" = 'petstore 600' ]

# Root is rejected. While the service is away, its socket is not to be had, and clients wait.
fails petstore keys list --store sqlite:$store 2>&1 | grep 'with petstore-run'
for signal in KILL HUP; do
	systemctl kill --kill-who=main -s $signal petstore
	fails as petstore serve --store sqlite:$store --addr unix:$socket 2>&1 | grep 'permission denied'
	private $socket
	list "$KEY" | grep Frank
done
run README.md 'At 3 a.m.: troubleshooting' journalctl | grep 'code=killed, status=9/KILL'
systemctl restart petstore &
while kill -0 $! 2>/dev/null; do list "$KEY" >list.out; done

# Backups, of which those of fourteen days stay when the clock was ahead, and a restore. The
# service cannot reach them.
backups=/var/lib/petstore/backups
systemctl start petstore-backup
as sh -c 'for day in $(seq 10 29); do touch backups/petstore-2099-01-$day-000000.db backups/petstore-2099-01-$day-000001.dump; done'
while [ -e "$backups/petstore-$(date +%F-%H%M%S).db" ]; do sleep 0.1; done
systemctl start petstore-backup
measured
[ "$(ls $backups | grep -oE '[0-9]{4}-..-..' | sort | uniq -c | awk '{print $1}' | xargs)" = "$(printf '2 %.0s' {1..14} | xargs)" ]
rm $backups/petstore-2099*
fails nsenter -t "$(systemctl show --value -p MainPID petstore)" -m setpriv --reuid petstore --clear-groups ls $backups
run $page 'Backup and restore' drill.db
run $page 'Backup and restore' 'petstore verify .*backups'
list "$KEY" | grep Frank

# A key that may not write.
READONLY=$(as petstore keys create reader --read-only --store sqlite:$store)
fails create "$READONLY" Frank
journalctl -u petstore | grep '"status":403'

# Remove a pet for legal reasons: its name is in no page of the file.
copy() { # FILE ID N stores a pet N times more
	as sqlite3 -safe "$1" "CREATE TEMP TABLE copy AS SELECT * FROM pets WHERE id = $2; UPDATE copy SET id = NULL;
		INSERT INTO pets SELECT copy.* FROM copy, generate_series(1, $3)"
}
unwanted=$(create "$KEY" unwanted | grep -oP '"id":\K[0-9]+') # far above the backup's
systemctl stop petstore.socket petstore
private $socket
copy $store 1 600
grep unwanted $store
eval "$(page $page 'Backup and restore' DELETE | sed "s/id = 1/id = $unwanted/")"
fails grep unwanted $store*
grep '^1,.*Frank' /root/pets.csv

# Without a certificate, each metric of an alert but one is served.
systemctl start petstore
list "$KEY" | grep Frank
curl http://127.0.0.1:18080/metrics >metrics.out
grep -oE '\b(petstore|process)_[a-z_]+' /usr/share/petstore/prometheus/alerts.yml | grep -v _tls_ | sort -u | while read -r metric; do
	grep "^$metric[ {]" metrics.out >/dev/null
done

# A failed backup triggers the notification, and a link does not lead it elsewhere.
mkdir -m 755 /srv/planted
rm -r /var/lib/petstore/backups
as ln -s /srv/planted /var/lib/petstore/backups
fails systemctl start petstore-backup
[ "$(stat -c '%U %a' /srv/planted)" = 'root 755' ]
[ -z "$(ls /srv/planted)" ]
rm /var/lib/petstore/backups
until journalctl -u petstore-backup-failed -p err | grep 'The backup of the pet store failed'; do sleep 0.2; done

# Open to the public behind nginx.
renew one
run README.md 'Open to the public' nginx.conf
until curl https://localhost/readyz; do sleep 1; done
fails curl --interface 127.0.0.2 https://localhost/from-another
journalctl -u petstore | grep '"path":"/from-another".*"remote":"127.0.0.2"'
command curl -sS -H "Authorization: Bearer $KEY" http://localhost/v1/pets | grep 'use https'
list "$KEY" https://localhost | grep Frank
command curl -sSi --insecure -H "Authorization: Bearer $KEY" 'https://localhost/v1/pets?limit=1' | grep -i '^link: <https://localhost/v1/pets?'

# The service cannot start: clients get an error at once.
as mv $store $store.away
systemctl restart petstore || true
systemctl stop petstore.socket
[ "$(command curl -sSk -w '%{http_code}' -o /dev/null https://localhost/v1/pets)" = 503 ]
as mv $store.away $store
systemctl start petstore
list "$KEY" https://localhost | grep Frank

# Save what can be read of a damaged file, without a backup.
many=$(create "$KEY" 'one of many, so that the file has many pages' | grep -oP '"id":\K[0-9]+')
systemctl stop petstore.socket petstore
copy $store $many 3000
as dd if=/dev/urandom of=$store bs=4096 seek=30 count=1 conv=notrunc
fails as petstore verify --store sqlite:$store
run $page 'Backup and restore' dump
saved=$(as sqlite3 -safe $store 'SELECT count(*) FROM pets')
echo "saved $saved of 3602 pets"
[ "$saved" -gt 3240 ]
[ -e /var/lib/petstore/damaged/petstore.db ]
systemctl start petstore
list "$KEY" | grep Frank

# A store elsewhere.
mkdir /srv/pets
mount -t tmpfs -o mode=700,uid=petstore,gid=petstore tmpfs /srv/pets
echo 'PETSTORE_STORE=sqlite:/srv/pets/pets.db' >>/etc/petstore/petstore.env
as petstore migrate
KEY=$(as petstore keys create first)
systemctl restart petstore || true # without ReadWritePaths
until journalctl -u petstore | grep 'read-only file system'; do sleep 0.2; done
for unit in petstore petstore-backup; do
	mkdir -p "/etc/systemd/system/$unit.service.d"
	printf '[Service]\nReadWritePaths=-/srv/pets\n' >"/etc/systemd/system/$unit.service.d/override.conf"
done
systemctl daemon-reload
systemctl restart petstore
systemctl start petstore-backup
as petstore verify --store "sqlite:$(ls -t $backups/* | head -n 1)" | grep 'pets: 0,'

create "$KEY" Elsewhere

# The server itself has the certificate and port 443. It notices a renewal.
shows() { openssl s_client -connect 127.0.0.1:443 </dev/null 2>&1 | grep "subject=CN *= *$1"; }
systemctl stop nginx
run README.md 'Open to the public' ListenStream
shows one
RENEWED_LINEAGE=/etc/letsencrypt/live/another /etc/letsencrypt/renewal-hooks/deploy/petstore
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
list a-fixed-key-for-this-walk | grep Elsewhere
rm -r /etc/systemd/system/petstore*.d
systemctl daemon-reload

# The commands of deploy/postgres/from-sqlite.md, for postgres.sh.
# A store on SQLite with odd rows moves into a new database. The move fails if it is repeated
# or the file is damaged, and then leaves nothing.
from_sqlite() {
	odd=/var/lib/petstore/odd.db
	as petstore migrate --store sqlite:$odd
	as petstore keys create "it's \\ an \"odd\" :key" --store sqlite:$odd
	as petstore keys create brief --expires-in 1h --store sqlite:$odd
	as petstore keys revoke brief --store sqlite:$odd
	served() { # STORE COMMAND… runs a command while a store is served on a port of its own
		systemd-run --collect --unit odd --uid petstore --setenv PETSTORE_API_KEYS=a-fixed-key-for-this-walk petstore serve --addr 127.0.0.1:8090 --drain 0s --store "$1"
		until petstore health --addr 127.0.0.1:8090; do sleep 0.1; done
		"${@:2}"
		systemctl stop odd
	}
	odd_pets() {
		while read -r body; do
			curl -H 'Authorization: Bearer a-fixed-key-for-this-walk' -H "Idempotency-Key: \"a 'key'\\\\ $((n += 1))\"" \
				-H 'Content-Type: application/json' -d "$body" http://127.0.0.1:8090/v1/pets
		done <odd.ndjson
	}
	served sqlite:$odd odd_pets
	as sqlite3 $odd 'DELETE FROM pets WHERE id = (SELECT max(id) FROM pets)'
	move() { # SOURCE TARGET
		as petstore migrate --store "postgres:///$2"
		eval "$(page postgres/from-sqlite.md 'Move from SQLite to PostgreSQL' sqlite3 | sed "/systemctl/d; s|petstore-run|& env PGDATABASE=$2|; s|petstore\.db|$1|")"
	}
	created() { (cd / && runuser -u postgres -- setsid -w createdb -O petstore -E UTF8 -T template0 "$1"); }
	created moved
	move $odd moved
	want() { # SQL-OF-SQLITE SQL-OF-POSTGRESQL: both give the same rows
		diff <(as sqlite3 $odd "$1") <(sql -d moved -c "$2")
	}
	served sqlite:$odd list a-fixed-key-for-this-walk http://127.0.0.1:8090 >sqlite.out
	served postgres:///moved list a-fixed-key-for-this-walk http://127.0.0.1:8090 >postgres.out
	diff sqlite.out postgres.out
	want 'SELECT hex(key), key_id, pet_id, hex(fingerprint), created_at FROM idempotency_keys' \
		"SELECT upper(encode(convert_to(key, 'UTF8'), 'hex')), key_id, pet_id, upper(encode(fingerprint, 'hex')), extract(epoch FROM created_at)::bigint FROM petstore.idempotency_keys"
	want 'SELECT id, hex(hash), created_at, expires_at, revoked_at, read_only, used_at FROM keys ORDER BY rowid' \
		"SELECT id, upper(encode(hash, 'hex')), extract(epoch FROM created_at)::bigint, extract(epoch FROM expires_at)::bigint, extract(epoch FROM revoked_at)::bigint, read_only::int, extract(epoch FROM used_at)::bigint FROM petstore.keys ORDER BY stored"
	want "SELECT seq FROM sqlite_sequence WHERE name = 'pets'" "SELECT nextval('petstore.pets_id_seq'::regclass) - 1"
	as petstore keys list --store postgres:///moved | grep -F "it's \\ an \"odd\" :key"
	fails move $odd moved
	[ "$(sql -d moved -c 'SELECT count(*) FROM petstore.pets')" = 8 ]
	created empty
	copy $odd 2 3000
	as dd if=/dev/urandom of=$odd bs=4096 seek=30 count=1 conv=notrunc
	fails move $odd empty
	[ "$(sql -d empty -c 'SELECT (SELECT count(*) FROM petstore.pets) + (SELECT count(*) FROM petstore.keys)')" = 0 ]
}
