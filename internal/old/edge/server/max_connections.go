package server

import "fmt"

// mostByDefault bounds what connections may cost by default: some 12 KiB of
// memory each while they are idle.
const mostByDefault = 4096

// reservedFiles returns how many of n files are for all but the connections of
// clients: the service's own, the log, the connections to a database server.
func reservedFiles(n int) int { return min(max(32, n/4), 256) }

// DefaultMaxConnections returns how many connections a server may have where
// --max-connections does not say otherwise: fewer than the files that the process
// may open.
func DefaultMaxConnections() int {
	n, ok := openFiles()
	if !ok {
		return mostByDefault
	}
	return max(1, min(mostByDefault, n-reservedFiles(n)))
}

// CheckMaxConnections returns an error where n connections cannot be.
func CheckMaxConnections(n int) error {
	if n < 1 {
		return fmt.Errorf("--max-connections %d must be 1 or more", n)
	}
	if files, ok := openFiles(); ok && n > files-reservedFiles(files) {
		return fmt.Errorf("--max-connections %d is too much: the process may open %d files (ulimit -n), of which %d are for other uses; raise that, or give at most %d",
			n, files, reservedFiles(files), max(1, files-reservedFiles(files)))
	}
	return nil
}
