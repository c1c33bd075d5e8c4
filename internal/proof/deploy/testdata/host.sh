# Tells whether this machine can run the checks of deploy/, beside the programs that
# the Makefile names: boot.sh starts a Debian of its own from this machine's files.
fail() {
	echo "make deploy-check needs $1." >&2
	exit 1
}
[ -e /etc/debian_version ] || fail 'Debian (or a container of it): it boots a copy of this system with systemd, and installs a package there'
[ -x /lib/systemd/systemd ] || fail 'systemd installed: apt install systemd'
[ "$(id -u)" = 0 ] || exit 0 # sudo asks for the rest
unshare --mount --pid --net --ipc --uts --cgroup --fork true 2>/dev/null ||
	fail 'namespaces of mounts, processes and networks: in a container, give it --privileged'
unshare --mount sh -e -c 'mount -t tmpfs tmpfs /mnt; mkdir /mnt/upper /mnt/work /mnt/root
	mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root' 2>/dev/null ||
	fail 'the file system overlay: modprobe overlay'
