package program

import (
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent lets the heap grow to three and a half times the memory in use before
	// it is collected. Beside Go's own 100 it costs some 20 MiB and saves almost a
	// tenth of the processor's time. 400 would save little more, and take the peak with
	// ten million rows in SQLite past 64 MiB.
	gcPercent = 250

	// memoryShare is the part of a container's or a unit's memory that Go may fill
	// before it collects whatever gcPercent says. SQLite's pages, the stacks of C
	// code and the kernel's own buffers are outside of Go's count.
	memoryShare = 0.75
)

// tuneMemory sets gcPercent and follows the memory limit of the control group,
// each unless the operator has said otherwise by GOGC and GOMEMLIMIT.
func tuneMemory(getenv func(string) string, logger *slog.Logger) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil && !errors.Is(err, memlimit.ErrCgroupsNotSupported) && !errors.Is(err, memlimit.ErrNoCgroup) {
		logger.Warn("the memory limit of the control group cannot be read; set GOMEMLIMIT to three quarters of it", "error", err)
	}
}
