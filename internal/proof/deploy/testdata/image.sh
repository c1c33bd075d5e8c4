# Builds the image with podman, and runs it as deploy/Dockerfile says, then the commands of
# compose.yaml. TestImage runs it with bash -e: $1 is an empty folder, $2 a free address.
export BUILDAH_ISOLATION=chroot CONTAINERS_CONF=$1/containers.conf CONTAINERS_STORAGE_CONF=$1/storage.conf
cat >"$CONTAINERS_CONF" <<CONF
[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "$1/networks"
CONF
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/root"\nrunroot = "%s/run"\n' "$1" "$1" >"$CONTAINERS_STORAGE_CONF"
(umask 077 && GOOS=darwin make image IMAGE=podman)

petstore() { podman run --network host --read-only --cap-drop all --volume pets:/data "${@:2}" petstore:latest $1; }
petstore migrate --rm
key=$(petstore 'keys create first' --rm)
id=$(petstore serve --detach --memory 256m --env GOMEMLIMIT=160MiB --env "PETSTORE_ADDR=$2")
curl -fsS --retry 50 --retry-delay 1 --retry-connrefused -H "Authorization: Bearer $key" "http://$2/v1/pets" | grep '\[\]'
podman healthcheck run "$id"
podman stop --time 30 "$id"
ended=$(podman inspect --format '{{.Config.User}} {{.State.ExitCode}}' "$id")
[ "$ended" = '65532:65532 0' ] || { podman logs "$id"; echo "$ended"; exit 1; }
podman rm --volumes "$id"

# At a socket, as in compose.yaml, whose file a container leaves that is killed.
install -d -o 65532 -g www-data -m 2750 "$1/socket"
id=$(petstore serve --detach --volume "$1/socket:/run/petstore" --env PETSTORE_ADDR=unix:/run/petstore/http.sock)
for i in 1 2; do
	until podman healthcheck run "$id"; do sleep 0.2; done
	[ "$(stat -c '%u %G %a' "$1/socket/http.sock")" = '65532 www-data 660' ]
	podman kill "$id"
	[ $i = 2 ] || podman start "$id"
done
podman rm --force --volumes "$id"

# Each command of compose.yaml finds what it needs without what the shell of another has set.
# podman-compose prints the commands of podman that it would run.
compose=deploy/postgres/compose.yaml
if [ ! -e $compose ]; then exit; fi
commands=$(sed -n 's/^#   //p' $compose | sed "s|/srv/pets|$1/pets|; s/ --wait//; s/^docker compose/podman-compose --dry-run/")
[ "$(grep -c '^podman-compose' <<<"$commands")" = 4 ]
while read -r command; do
	case $command in
	make*) continue ;;
	cd*) $command ;;
	esac
	env -i PATH="$PATH" CONTAINERS_CONF="$CONTAINERS_CONF" CONTAINERS_STORAGE_CONF="$CONTAINERS_STORAGE_CONF" sh -e -c "$command" </dev/null
done <<<"$commands"
