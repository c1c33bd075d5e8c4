# The commands of deploy/postgres/README.md, for walk.sh.
page=postgres/README.md
sql() { as psql -qtAX -v ON_ERROR_STOP=1 "$@"; }

# PostgreSQL with two replicas behind nginx.
systemctl stop petstore.socket petstore
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
run $page 'Two replicas on one machine' createdb >first.out
KEY=$(grep '^psk_' first.out)
petstore health --admin-addr 127.0.0.1:18081
run $page 'Two replicas on one machine' nginx
until curl https://localhost/readyz; do sleep 1; done
create "$KEY" Ginger https://localhost
grep -c 'server 127.0.0.1:808[12] fail_timeout=2s;' /etc/nginx/conf.d/petstore.conf | grep 2
fails petstore keys list --store postgres://petstore@/pets 2>&1 | grep 'authentication failed'

# A store on SQLite with odd rows moves into a new database. The move fails if it is repeated
# or the file is damaged, and then leaves nothing.
odd=/var/lib/petstore/odd.db
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
	moves=$(page $page 'Move from SQLite' sqlite3 | sed '/systemctl/d')
	moves=${moves/\/var\/lib\/petstore\/petstore.db pets/$1 $2}
	eval "${moves/postgres:\/\/\/pets/postgres:\/\/\/$2}"
}
runuser -u postgres -- createdb -O petstore -E UTF8 -T template0 moved
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
want "SELECT seq FROM sqlite_sequence WHERE name = 'pets'" 'SELECT last_value FROM petstore.pets_id_seq'
as petstore keys list --store postgres:///moved | grep -F "it's \\ an \"odd\" :key"
fails move $odd moved
[ "$(sql -d moved -c 'SELECT count(*) FROM petstore.pets')" = 8 ]
runuser -u postgres -- createdb -O petstore -E UTF8 -T template0 empty
copy $odd 2 3000
as dd if=/dev/urandom of=$odd bs=4096 seek=30 count=1 conv=notrunc
fails move $odd empty
[ "$(sql -d empty -c 'SELECT (SELECT count(*) FROM petstore.pets) + (SELECT count(*) FROM petstore.keys)')" = 0 ]

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

# Log in with a password, as across a network.
runuser -u postgres -- psql -c "ALTER ROLE petstore PASSWORD 'PASSWORD'"
eval "$(page $page 'Across a network' pgpass | sed 's/db1,db2,db3/localhost/; /PGSSL/d')"
systemctl restart petstore@8081 petstore@8082
(set -a && . /etc/petstore/petstore.env && as petstore keys list)

# Back up, and restore into another database, where identifiers continue far above. What the
# role has planted is run by no other.
sql -d pets -c "CREATE FUNCTION petstore.own() RETURNS boolean LANGUAGE plpgsql AS
	'BEGIN IF session_user <> ''petstore'' THEN RAISE ''run by %'', session_user; END IF; RETURN true; END'" \
	-c 'ALTER TABLE petstore.pets ADD CHECK (petstore.own())'
run $page 'Backup and restore' backup.conf
rm /var/cache/petstore/node-exporter/petstore-backup.prom
systemctl start petstore-backup
[ -e /var/cache/petstore/node-exporter/petstore-backup.prom ]
run $page 'Backup and restore' pg_restore
sed -i 's|^PGDATABASE=pets$|PGDATABASE=restored|' /etc/petstore/petstore.env

# Upgrade, one replica after the other.
apt-get install --reinstall ./.bin/dist/petstore_*.deb
for port in 8081 8082; do
	systemctl restart petstore@$port
	sleep 3
done
list "$KEY" https://localhost | grep Ginger
create "$KEY" Rex https://localhost | grep '"id":100000[2-9]'
journalctl -u 'petstore*' | grep 'petstore@8082'
