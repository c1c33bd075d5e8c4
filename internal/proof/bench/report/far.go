package main

import (
	"fmt"
	"math"
	"strings"

	"example.com/petstore/internal/proof/bench/measured"
)

// The assumptions of deploy/how-far.md, which names them.
const (
	utilization       = 0.6   // of a processor, where it is planned for
	replicaProcessors = 8     // of a replica
	serverProcessors  = 64    // of a server of the database, at most
	logDevice         = 200e6 // bytes a second that a log's device and its standbys take
	yearSeconds       = 365 * 24 * 3600
	connections       = 32 // of a replica to the primary: pool_max_conns twice
	standbyConns      = 5  // of a replica to each host with --reads standbys
	sessionMemory     = 10e6
)

// rates are the requests a second that are planned for.
var rates = []float64{1e3, 1e4, 1e5, 1e6}

// step is the plan for a rate.
type step struct {
	rate, creates        float64
	replicas             int
	primary              float64 // processors
	readsFromStandbys    bool
	standbys             int
	standby              float64 // processors of each
	replay               float64 // of what the one process that replays can do
	wal, log, network    float64 // bytes a second
	bottleneck, nextStep string
}

func (p planner) step(rate float64) step {
	s := step{rate: rate, creates: rate * measured.Mixed["create"], standbys: 2}
	service := rate * p.Mean(func(c measured.Cost) float64 { return c.Service }) / 1e6 / utilization
	s.replicas = max(2, int(math.Ceil(service/replicaProcessors)))
	create := p.Of("create")
	reads := rate * p.Mean(func(c measured.Cost) float64 { return c.Primary }) / 1e6
	writes := s.creates * create.Primary / 1e6
	s.replay = s.creates * create.Replay / 1e6 / utilization
	s.primary, s.standby = reads/utilization, s.creates*create.Standby/1e6/utilization
	if s.primary > serverProcessors/2 {
		s.readsFromStandbys = true
		s.primary = (writes + float64(s.replicas)*p.Questions) / utilization
		fromStandbys := rate * (measured.Mixed["list"]*p.Of("list").Standby + measured.Mixed["get"]*p.Of("get").Standby) / 1e6 / utilization
		s.standbys = max(2, int(math.Ceil(fromStandbys/max(1, serverProcessors-s.standby))))
		s.standby += fromStandbys / float64(s.standbys)
	}
	s.wal = s.creates * create.WAL
	s.log = rate * p.Mean(func(c measured.Cost) float64 { return c.Log })
	s.network = rate * p.Mean(func(c measured.Cost) float64 { return c.Network })
	s.judge()
	return s
}

func (s step) connections() int {
	if s.readsFromStandbys {
		return s.replicas * (connections + standbyConns)
	}
	return s.replicas * connections
}

// judge finds the part that is nearest to its end, of those that a further server
// does not help.
func (s *step) judge() {
	var most float64
	for _, part := range []struct {
		used           float64
		name, nextStep string
	}{
		{s.primary / serverProcessors, "the primary's processors", map[bool]string{false: "`--reads standbys`", true: "shards"}[s.readsFromStandbys]},
		{s.wal / logDevice, "the bytes of the write-ahead log", "a faster device and network; then shards"},
		{s.replay, "the replay on a standby, which is one process", "shards; reads go back to the primary as standbys lag"},
	} {
		if part.used > most {
			most = part.used
			s.bottleneck = fmt.Sprintf("%s: %.0f %% of its end", part.name, 100*part.used)
			s.nextStep = part.nextStep
		}
	}
}

// planner makes the tables of deploy/how-far.md.
type planner struct{ measured.Plan }

// tables returns the tables by their names.
func (p planner) tables(f figures) map[string]string {
	return map[string]string{
		"costs":   p.Table(),
		"far":     p.far(),
		"animals": p.animals(f.scale),
		"p99":     p.latency(),
		"one":     p.onePrimary(f),
		"held":    p.HeldTable(),
	}
}

func (p planner) far() string {
	rows := []struct {
		name string
		of   func(s step) string
	}{
		{"creates/s", func(s step) string { return short(s.creates) }},
		{fmt.Sprintf("replicas of %d processors", replicaProcessors), func(s step) string { return fmt.Sprint(s.replicas) }},
		{"memory of each replica", func(step) string { return bytes(p.Memory) }},
		{"processors of the primary", func(s step) string { return fmt.Sprintf("%.1f", s.primary) }},
		{"reads", func(s step) string {
			if s.readsFromStandbys {
				return "from standbys"
			}
			return "from the primary"
		}},
		{"standbys, and processors of each", func(s step) string { return fmt.Sprintf("%d × %.1f", s.standbys, s.standby) }},
		{"connections to the primary, at most", func(s step) string { return fmt.Sprint(s.connections()) }},
		{"memory of the primary for connections", func(s step) string { return bytes(float64(s.connections()) * sessionMemory) }},
		{"write-ahead log a second", func(s step) string { return bytes(s.wal) }},
		{"program's log a second", func(s step) string { return bytes(s.log) }},
		{"network to clients a second", func(s step) string { return bytes(s.network) }},
		{"animals a year", func(s step) string { return short(s.creates * yearSeconds) }},
		{"disk a year, each server", func(s step) string { return bytes(s.creates * yearSeconds * p.AnimalBytes) }},
		{"bottleneck", func(s step) string { return s.bottleneck }},
		{"step that moves it", func(s step) string { return s.nextStep }},
	}
	var b strings.Builder
	b.WriteString("| requests/s")
	for _, rate := range rates {
		b.WriteString(" | " + short(rate))
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(rates)) + "|\n")
	for _, row := range rows {
		b.WriteString("| " + row.name)
		for _, rate := range rates {
			b.WriteString(" | " + row.of(p.step(rate)))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// animals is the sizes of databases.
func (p planner) animals(s measured.Scale) string {
	var b strings.Builder
	b.WriteString("| animals | disk of each PostgreSQL server | its indexes, which memory should hold | SQLite's file |\n|---|---|---|---|\n")
	for n := 1e7; n <= 1e10; n *= 10 {
		file := bytes(n * float64(s.FileSize) / float64(max(1, s.ManyPets)))
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", short(n), bytes(n*p.AnimalBytes), bytes(n*p.IndexBytes), file)
	}
	return b.String()
}

// latency is the p99 of the mix at parts of the capacity.
func (p planner) latency() string {
	var b strings.Builder
	b.WriteString("| processors of a replica, and of the server that it asks | 50 % | 70 % | 85 % |\n|---|---|---|---|\n")
	for _, processors := range []int{1, 8, 64} {
		stations := []station{
			p.station(min(processors, replicaProcessors), func(c measured.Cost) float64 { return c.Service }),
			p.station(processors, func(c measured.Cost) float64 { return c.Primary }),
		}
		fmt.Fprintf(&b, "| %d, %d", stations[0].processors, stations[1].processors)
		for _, u := range []float64{0.5, 0.7, 0.85} {
			fmt.Fprintf(&b, " | %.1f ms", p99(stations, u)/1000)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func (p planner) station(processors int, of func(measured.Cost) float64) station {
	s := station{processors: processors}
	for _, c := range p.Costs {
		s.means, s.shares = append(s.means, of(c)), append(s.shares, measured.Mixed[c.Operation])
	}
	return s
}

// onePrimary is where one primary ends, in creates a second.
func (p planner) onePrimary(f figures) string {
	create := p.Of("create")
	rows := [][2]string{
		{fmt.Sprintf("%d processors, planned to %.0f %%", serverProcessors, 100*utilization), short(serverProcessors * utilization * 1e6 / create.Primary)},
		{"log bytes: " + bytes(logDevice) + " a second", short(logDevice / create.WAL)},
		{fmt.Sprintf("replay on a standby: one process, planned to %.0f %%", 100*utilization), short(utilization * 1e6 / create.Replay)},
	}
	for _, v := range f.postgres {
		if strings.HasPrefix(v.Operation, "create") {
			rows = append(rows, [2]string{"measured on this machine by one process of the store: " + v.Operation, short(v.Store.Median)})
		}
	}
	var b strings.Builder
	b.WriteString("| end of one primary | creates/s |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	return b.String()
}

// short writes a number of two or three digits and its unit.
func short(n float64) string {
	return scaled(n, 1000, []string{"", " thousand", " million", " billion", " trillion"})
}

// bytes writes a number of bytes likewise.
func bytes(n float64) string {
	return scaled(n, 1000, []string{" B", " kB", " MB", " GB", " TB", " PB"})
}

func scaled(n, base float64, units []string) string {
	for ; n >= base && len(units) > 1; units = units[1:] {
		n /= base
	}
	decimals := 0
	if n < 10 && n != math.Trunc(n) {
		decimals = 1
	}
	return fmt.Sprintf("%.*f%s", decimals, n, units[0])
}
