//go:build !unix

package dbfile

import (
	"io/fs"
	"os"
)

// writable returns why this user may not write to the file or folder of that
// name, or nil, as far as its attributes tell.
func writable(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() && info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return err
}
