package sqlite

import "golang.org/x/sys/unix"

// isMount reports whether the file itself is mounted, and not only a folder above it.
func isMount(file string) bool {
	var info unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, file, unix.AT_SYMLINK_NOFOLLOW, 0, &info)
	return err == nil && info.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
