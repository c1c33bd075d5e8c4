# Boots systemd in separate namespaces, on a temporary overlay of this machine's files, runs
# the script walk.sh in the directory $1, and exits with its status. The output is in
# walk.out, the end of the journal in journal.out. Run it with
#
#   unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child sh boot.sh FOLDER
set -e
shared=$1
top=$shared/top
mkdir "$top"
mount --make-rprivate /
mount -t tmpfs tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
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
