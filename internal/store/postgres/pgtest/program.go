package pgtest

import (
	"os/exec"
	"strconv"
)

// New starts a server for a program that is no test: Remove ends it. It keeps
// what it acknowledges on disk only where the settings say fsync=on.
func New(settings ...string) (*Server, error) { return start(settings) }

// Remove ends the server and removes all it held.
func (s *Server) Remove() { s.remove() }

// Command is one of PostgreSQL's programs, which connects to this server where
// no argument says otherwise. It runs as the server's user in the server's
// folder.
func (s *Server) Command(program string, args ...string) *exec.Cmd {
	cmd := s.command(program, args...)
	cmd.Env = append(cmd.Env, "PGHOST=127.0.0.1", "PGUSER=postgres", "PGPORT="+strconv.Itoa(s.port))
	return cmd
}
