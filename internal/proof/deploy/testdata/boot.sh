# Builds the Debian package, boots systemd in separate namespaces, on a temporary overlay of this
# machine's files, runs the script walk.sh in the directory $1, and exits with its status. The
# output is in walk.out, the end of the journal in journal.out. TestPackage runs it with sh -e in
# the top folder; $2 is the body of a pet with the name NAME, $3 has odd bodies, one a line. ROOT is
# another system to boot, such as one that debootstrap has made.
shared=$1
if [ $$ != 1 ]; then
	make package
	version=$(sh deploy/package/version.sh)
	cp --parents ".bin/dist/petstore_${version}_$(go env GOARCH).deb" $(git ls-files 'deploy/*.md') "$shared"
	cp internal/proof/deploy/testdata/*.sh "$shared"
	printf '%s\n' "$2" >"$shared/body.json"
	printf '%s\n' "$3" >"$shared/odd.ndjson"
	timeout 12m unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child sh -e "$0" "$shared" && exit
	tail -n 40 "$shared"/*.out
	exit 1
fi
top=$shared/top
mkdir "$top"
mount --make-rprivate /
mount -t tmpfs tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=${ROOT:-/},upperdir=$top/upper,workdir=$top/work" "$top/root"
cd "$top/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 cgroup2 sys/fs/cgroup
else
	mount -t tmpfs tmpfs sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount --rbind /dev dev
mkdir run/lock run/walk
mount --bind "$shared" run/walk
ip link set lo up
cat >etc/systemd/system/walk.service <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
WorkingDirectory=/run/walk
Environment=HOME=/root
ExecStart=/usr/bin/script -qefc "/bin/bash -e -x walk.sh" walk.out
StandardOutput=null
ExecStopPost=/bin/sh -c 'journalctl --no-pager -n 60 >journal.out'
UNIT
# The units need user namespaces, which the kernel does not allow after chroot.
mkdir run/old
pivot_root . run/old
cd /
umount -l /run/old
mount --make-rshared / # for credentials
exec env container=podman /lib/systemd/systemd --unit=walk.service --show-status=0
