package pets

import (
	"context"
	"time"
)

// Stats are figures of a store for its operator. Where a store has no such
// figure, it is zero.
type Stats struct {
	LogBytes    int64     // the size of the write-ahead log, in bytes
	LogHeld     int64     // the part of the log, in bytes, that readers keep from being folded into the file
	Commits     uint64    // transactions committed since the store was opened
	Writes      uint64    // writes in those transactions: Writes/Commits is the mean batch
	Corruptions uint64    // reads and writes that met a damaged page
	DiskFull    bool      // the last write found no space; reads go on
	LastBackup  time.Time // the end of the newest backup; zero where there is none

	Cluster *ClusterStats // nil where the store is not on a cluster
}

// ClusterStats are figures of a store whose database is a cluster of servers.
type ClusterStats struct {
	Timeline     uint32 // the highest timeline met, which grows with every promotion; 0 where unknown
	OldPrimaries int    // servers on a lower timeline that still accept writes
	SyncStandbys int    // synchronous standbys of the primary; -1 where unknown
	Abandoned    uint64 // how often a server that hung or was succeeded was abandoned
	Outage       bool   // calls fail at once, since none has had a connection for 3 s
	Connections  int    // open connections
	InUse        int    // connections on which statements run

	// Of standbys that serve reads: nil where they serve none.
	Reads map[ReadBy]uint64       // reads of pets and pages
	Hosts map[string]StandbyStats // by host:port, the primary too
}

// ReadBy is the server that served a read, "primary" or a standby's host:port, and
// the reason: "exact" for a standby.
type ReadBy struct{ Server, Reason string }

// StandbyStats are figures of a host that may serve reads.
type StandbyStats struct {
	Fit bool          // whether it serves reads
	Lag time.Duration // how long it took to come to the primary's position; of an unfit host, since when it has not
}

// StatsReporter is a Store that has Stats. It is safe for concurrent use, and
// never waits for writes.
type StatsReporter interface {
	Stats(ctx context.Context) Stats
}
