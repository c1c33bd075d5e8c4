# The commands of deploy/postgres/README.md, for walk.sh.
page=postgres/README.md
sql() { as psql -qtAX -v ON_ERROR_STOP=1 "$@"; }
super() { (cd / && runuser -u postgres -- setsid -w psql -qtAX "$@"); }

# PostgreSQL with two replicas behind nginx.
systemctl stop petstore.socket petstore
systemctl disable --now petstore petstore-backup.timer
systemctl start postgresql
plant /var/lib/postgresql
(run $page 'Two replicas on one machine' createdb) >first.out
KEY=$(grep '^psk_' first.out)
petstore health --addr unix:/run/petstore-1/http.sock
if [ ! -e /etc/nginx/conf.d/petstore.conf ]; then # SQLite was taken out
	renew one
	run README.md 'Open to the public' nginx.conf
fi
run $page 'Two replicas on one machine' nginx
until curl https://localhost/readyz; do sleep 1; done
create "$KEY" Ginger https://localhost
private /run/petstore-1/http.sock
fails runuser -u www-data -- rm -f /run/petstore-1/http.sock
fails runuser -u www-data -- ls /var/lib/petstore
curl http://127.0.0.1:18082/metrics >metrics.out
[ "$(stat -c '%U %G %a' /var/lib/petstore)" = 'petstore petstore 700' ]

# No POST is lost while one replica restarts and the other stops.
(systemctl restart petstore@1 && sleep 3 && systemctl stop petstore@2) &
while kill -0 $! 2>/dev/null; do create "$KEY" Kitty https://localhost >>posts.out; done
wait $!
[ ! -e /run/petstore-2 ]
for i in {1..50}; do create "$KEY" Kitty https://localhost >>posts.out; done
grep -c Kitty posts.out
systemctl start petstore@2
grep -c 'server unix:/run/petstore-[12]/http.sock fail_timeout=2s;' /etc/nginx/conf.d/petstore.conf | grep 2
fails petstore keys list --store postgres://petstore@/pets 2>&1 | grep 'authentication failed'

if declare -F from_sqlite; then from_sqlite; fi

# PostgreSQL is away when a replica starts, for more tries than systemd allows by
# default, and comes back.
[ "$(systemctl show --value -p RestartUSec petstore@1)" = 1s ]
mkdir -p /run/systemd/system/petstore@1.service.d
printf '[Service]\nRestartSec=0.1s\n' >/run/systemd/system/petstore@1.service.d/soon.conf
systemctl daemon-reload
systemctl stop postgresql petstore@1
systemctl start --no-block petstore@1
until [ "$(systemctl show --value -p NRestarts petstore@1)" -gt 8 ]; do
	fails systemctl is-failed petstore@1
	sleep 0.1
done
journalctl -u petstore@1 | grep 'no writable primary can be reached'
systemctl start postgresql
until petstore health --addr unix:/run/petstore-1/http.sock; do sleep 0.2; done

# The role that compose.yaml's init.sh makes owns its database, and runs no programs there.
pg_createcluster --start "$(ls /usr/lib/postgresql | tail -n 1)" compose
(cd / && runuser -u postgres -- setsid -w env PGPORT=5433 POSTGRES_PASSWORD="it's" sh /usr/share/petstore/postgres/init.sh)
inside() { PGPASSWORD="it's" setsid -w "$@"; }
inside petstore migrate --store 'postgres://petstore@localhost:5433/pets?sslmode=disable'
fails inside psql -X -h localhost -p 5433 -U petstore pets -c "COPY (SELECT) TO PROGRAM 'true'" 2>&1 | grep 'superuser\|permission denied'
fails inside psql -X -h localhost -p 5433 -U postgres pets 2>&1 | grep 'authentication failed'

# Log in with a password, as across a network.
super -c "ALTER ROLE petstore PASSWORD 'PASSWORD'"
eval "$(page $page 'Across a network' pgpass | sed 's/db1,db2,db3/localhost/; /PGSSL/d')"
petstore-run petstore keys list
asks() { # METHOD: PostgreSQL asks for passwords by it
	sed -i "/^host /s/[^ ]*$/$1/" /etc/postgresql/*/main/pg_hba.conf
	super -c 'SELECT pg_reload_conf()'
}
asks password
until petstore-run petstore keys list 2>&1 | grep require_auth; do sleep 0.2; done
asks scram-sha-256

# The query of the page tells what a write waits for.
waits() { # PATTERN COMMAND…: the command ends what the pattern says of
	create "$KEY" Kitty https://localhost &
	until (run $page 'What writes wait for' pg_blocking_pids) | grep "active | $1"; do sleep 0.2; done
	"${@:2}"
	wait $! || true # it may have taken too long
}
super -c "ALTER SYSTEM SET synchronous_standby_names = 'absent'" -c 'SELECT pg_reload_conf()'
waits SyncRep super -c 'ALTER SYSTEM RESET synchronous_standby_names' -c 'SELECT pg_reload_conf()'
sql -c 'BEGIN' -c 'LOCK TABLE petstore.pets' -c 'SELECT pg_sleep(600)' -d pets &
sleeper="FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
until super -c "SELECT pid $sleeper" | grep '^[0-9]'; do sleep 0.2; done
waits 'relation *| {[0-9]' super -c "SELECT pg_terminate_backend(pid) $sleeper"

# Back up, and restore into another database, where identifiers continue far above. What the
# role has planted is run by no other.
sql -d pets -c "CREATE FUNCTION petstore.own() RETURNS boolean LANGUAGE plpgsql AS
	'BEGIN IF session_user <> ''petstore'' THEN RAISE ''run by %'', session_user; END IF; RETURN true; END'" \
	-c 'ALTER TABLE petstore.pets ADD CHECK (petstore.own())'
run $page 'Backup and restore' backup.conf
rm -f /var/cache/petstore/node-exporter/petstore-backup.prom
systemctl start petstore-backup
measured
run $page 'Backup and restore' 'VACUUM FULL'
grep '^id,' /root/pets.csv
fails grep '^1,' /root/pets.csv
(run $page 'Backup and restore' pg_restore)

# A key is in no dump and no log. Another database than the one that pg_dump knows is not dumped.
fails grep -F "$KEY" <(pg_restore -f - /var/lib/petstore/backups/*.dump)
fails grep -F "$KEY" <(journalctl)
echo PETSTORE_STORE=postgres:///restored >>/etc/petstore/petstore.env
fails systemctl start petstore-backup
journalctl -u petstore-backup | grep 'PETSTORE_STORE must be postgres://'
sed -i '/postgres:...restored/d' /etc/petstore/petstore.env

# Upgrade, one replica after the other.
apt-get install --reinstall ./.bin/dist/petstore_*.deb
for n in 1 2; do
	systemctl restart petstore@$n
	sleep 3
done
list "$KEY" https://localhost | grep Ginger
create "$KEY" Rex https://localhost | grep '"id":1000[0-9]*,'
journalctl -u 'petstore*' | grep 'petstore@2'
