//go:build !linux

package sqlite

// isMount reports false: elsewhere, files are not mounted alone.
func isMount(string) bool { return false }
