//go:build unix

package pgtest

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// New starts a server for a program that is no test: Remove ends it. It keeps
// what it acknowledges on disk only where the settings say fsync=on.
func New(settings ...string) (*Server, error) { return start(settings) }

// NewStandby starts a standby of s for a program that is no test, as New does.
func (s *Server) NewStandby(name string, settings ...string) (*Server, error) {
	return s.startStandby(name, settings)
}

// Processes returns the processes of the server.
func (s *Server) Processes() []int { return s.processes() }

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

// Programs returns the folder of PostgreSQL's programs.
func Programs() (string, error) { return programs() }

// Credential is the user that runs the servers where this process is root, nil where
// it is not.
func Credential() *syscall.Credential { return credential() }

// Children returns the processes whose parent is pid.
func Children(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if _, parent := stateOf(child); parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// Lives reports whether there is such a process.
func Lives(pid int) bool { return lives(pid) }
