package rig

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time that process pid has used, to the
// nanosecond: the clock of /proc/PID/stat ticks only every 10 ms. The clock's
// number is made as clock_getcpuclockid(3) makes it.
func processorTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
