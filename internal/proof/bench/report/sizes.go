package main

import (
	"fmt"
	"strings"
	"time"
)

// sizes is the operators' table: the load that a core, a file and a primary hold.
func sizes(f figures) string {
	var b strings.Builder
	row := func(subject, holds, saturates string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", subject, holds, saturates)
	}
	row("part", "holds", "saturates with")
	b.WriteString("|---|---|---|\n")
	for _, l := range f.loopback {
		if l.Server != "petstore sqlite" {
			continue
		}
		row("a core, SQLite, "+l.Operation,
			fmt.Sprintf("%.0f requests/s by processor time (%.0f measured)", float64(time.Second/time.Microsecond)/l.CPUMicros.Median, l.PerSecond.Median),
			"the processor")
	}
	row("a file", fmt.Sprintf("%d pets measured, %d bytes a pet", f.scale.ManyPets, f.scale.FileSize/int64(max(1, f.scale.ManyPets))), "the disk's size")
	for _, c := range f.commits {
		row(fmt.Sprintf("a file, fsync of 2 ms, clients that create: %d", c.Clients), fmt.Sprintf("%.0f creates/s", c.PerSecond), "the fsync")
	}
	for _, v := range f.postgres {
		row("a primary, "+v.Operation, fmt.Sprintf("%.0f calls/s of the store; %.1f µs of the service's processor time a request", v.Store.Median, v.CPUMicros.Median), "the primary's processor, or its commits")
	}
	return b.String()
}
