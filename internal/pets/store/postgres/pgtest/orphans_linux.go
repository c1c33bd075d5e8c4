package pgtest

import "syscall"

// endWithTests has a process end when the test binary does: SIGKILL gives it no
// chance to stop its servers, and SIGQUIT is PostgreSQL's immediate shutdown. A
// server that hangs then (Hang) is the exception, since it takes no signal.
//
// Strictly, Linux does so when the thread ends that started the process. Go's
// threads end before the program only where a goroutine keeps one to itself.
func endWithTests(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
