# The commands of deploy/README.md, from installation to removal, for a machine that runs
# systemd and has no network, with those of the stores in between. boot.sh runs it with
# bash -e -x.
fails() { if "$@"; then exit 1; fi; }
# page FILE HEADING PATTERN prints the block of commands under a heading of a page that
# has a line with the pattern, for this machine; run runs it.
page() {
	awk -v heading="$2" -v pattern="$3" '/^#+ / && !code { on = substr($0, index($0, " ") + 1) == heading }
		/^```/ { if (code && found) { printf "%s", block; exit } code = on && /console/; block = ""; found = 0; next }
		code { if ($0 ~ pattern) found = 1; sub(/^[#$] /, ""); block = block $0 "\n" }' "/run/walk/deploy/$1" |
		sed "s/apt-get install \([a-z]\)/apt-get install --no-upgrade \1/; s/HOST=pets\.example\.com/HOST=localhost/; s|live/pets\.example\.com|live/localhost|; s|\./petstore_1.0.0_amd64.deb|/run/walk/.bin/dist/petstore_*.deb|; s/petstore-2026-11-21[-0-9]*/$(ls -t /var/lib/petstore/backups 2>/dev/null | head -n 1 | cut -d. -f1)/"
}
run() {
	commands=$(page "$@")
	[ -n "$commands" ]
	eval "$commands"
}
mkdir -p /etc/apt/apt.conf.d && echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/99walk
curl() { command curl -fsS --insecure "$@"; }
socket=/run/petstore/http.sock
direct="--unix-socket $socket http://localhost"
create() { # KEY NAME [URL] creates a pet
	sed "s/NAME/$2/" body.json | curl -H "Authorization: Bearer $1" -d @- -H 'Content-Type: application/json' ${3:-$direct}/v1/pets
}
list() { curl -H "Authorization: Bearer $1" ${2:-$direct}/v1/pets; }
private() { # SOCKET: another account cannot take it, nor connect to it
	fails runuser -u nobody -- setsid -w env PETSTORE_API_KEYS=a-key-of-another petstore serve --store memory: --addr "unix:$1" 2>&1 | grep 'already in use\|permission denied'
	fails runuser -u nobody -- curl --unix-socket "$1" http://localhost/livez
}
as() { petstore-run "$@"; }

# The walk has a terminal. reached.out gets a line for each program of the pages that has it, or root's
# environment, in a process of the service's user, or that reads what users have planted.
touch reached.out
chmod 666 reached.out
mkdir bin
export OF_ROOT=secret
cat >bin/probe <<EOF
#!/bin/sh
PATH=\${PATH#*:}
if [ "\$(id -un)" = petstore ]; then
	for process in /proc/[0-9]*; do
		if [ -O \$process ] && { ls -l \$process/fd | grep "$(tty)\$" || grep OF_ROOT \$process/environ; } >/dev/null; then
			echo "\$0 \$*" >>/run/walk/reached.out
		fi
	done 2>/dev/null
fi
exec "\${0##*/}" "\$@"
EOF
chmod +x bin/probe
for program in petstore sqlite3 psql pg_restore createdb createuser sh bash; do ln -s probe bin/$program; done
PATH=$PWD/bin:$PATH
systemctl set-environment "PATH=$PATH"
plant() { # FOLDER
	echo '.shell echo .sqliterc >>/run/walk/reached.out' >"$1/.sqliterc"
	echo '\! echo .psqlrc >>/run/walk/reached.out' >"$1/.psqlrc"
	echo '1 none *' >"$1/.postgresqlrc"
}
stty rows 50

# Install.
run README.md 'Install and run' apt-get
[ "$(stat -c '%U %G %a' /var/lib/petstore)" = 'petstore petstore 700' ]
[ "$(stat -c '%U %a' /etc/petstore/petstore.env)" = 'root 640' ]
plant /var/lib/petstore
echo PETSTORE_DRAIN=1s >>/etc/petstore/petstore.env # to save time
version=$(dpkg-query -W -f '${Version}' petstore)
petstore --version | grep -F "petstore version $version ("

# petstore-run keeps arguments, status and input, whatever is a terminal.
ends() { # STATUS COMMAND…
	status=0
	"${@:2}" || status=$?
	[ $status = "$1" ]
}
[ "$(as printf '%s,' '$HOME' '${x} $$' "it's" '' '%n' '\')" = '$HOME,${x} $$,it'"'s,,%n,\\," ]
[ "$(echo in | as cat)" = in ]
ends 0 as test -t 0
ends 1 as test -t 0 2>/dev/null
ends 1 as test -t 2 >/dev/null
ends 7 as sh -c 'exit 7' </dev/null
ends 143 as sh -c 'kill -TERM $$'
ends 141 as yes | head -n 1
ends 131 as sh -c 'kill -QUIT $$'
ends 0 as --help | grep usage
ends 2 as true <&- 2>&1 | grep 'standard input is closed'
ends 2 as printf $'\377' 2>&1 | grep UTF-8
(PATH=${PATH#*:} && ends 2 setsid -w runuser -u nobody -- petstore-run true 2>&1 | grep 'needs root')
timeout 10 petstore-run true # in the background of the terminal
ends 124 timeout 1 petstore-run sleep 1h >/dev/null
while systemctl list-units --no-legend 'run-petstore-*' | grep .; do sleep 0.1; done
mv /var/lib/petstore /var/lib/away
ends 200 as true 2>&1 | grep 'is it mounted'
mv /var/lib/away /var/lib/petstore

# renew SUBJECT makes a certificate like certbot's.
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

# The folder of metrics, and one that any user can make.
run README.md Backups node-exporter
systemctl start prometheus-node-exporter
mkdir -p /var/tmp/x/node-exporter
echo planted 1 >/var/tmp/x/node-exporter/x.prom
measured() { # there is a backup
	curl http://127.0.0.1:9100/metrics >metrics.out
	grep '^node_textfile_mtime_seconds{file="/var/lib/prometheus/node-exporter/petstore-backup.prom"}' metrics.out
	fails grep planted metrics.out
}

for part in sqlite postgres; do
	if [ -e $part.sh ]; then . ./$part.sh; fi
done

fails grep . reached.out

# Remove.
apt-get remove petstore
for unit in petstore@1 petstore@2 petstore petstore-backup.timer; do
	fails systemctl is-active "$unit"
done
fails ls /etc/systemd/system/*.wants/petstore*
[ -d /var/lib/petstore/backups ]
run README.md Remove purge
[ -z "$(find /etc /var -name '*petstore*')" ]
fails id petstore
curl http://127.0.0.1:9100/metrics >metrics.out
fails grep petstore-backup metrics.out
