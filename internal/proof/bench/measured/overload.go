package measured

import "fmt"

// Overload is the figures of servers at which more requests arrive than they can
// serve.
type Overload struct {
	AtCapacity int          `json:"capacity_connections"`
	Times      float64      `json:"times"` // requests that arrive, for each of the capacity
	Servers    []Overloaded `json:"servers"`
}

// Overloaded is one server with one operation: the spread of its rounds.
type Overloaded struct {
	Server         string    `json:"server"`
	Operation      string    `json:"operation"`
	Capacity       Spread    `json:"capacity_per_second"` // successes of a closed loop
	Crowds         []Crowded `json:"crowds"`
	MemoryCapacity int64     `json:"capacity_peak_memory_bytes"` // before the first overload
	Memory         int64     `json:"peak_memory_bytes"`
}

// Crowded is an overload by a number of connections.
type Crowded struct {
	Connections int    `json:"connections"`
	Goodput     Spread `json:"goodput_per_second"` // successes
	OfCapacity  Spread `json:"goodput_of_capacity"`
	Refused     Spread `json:"refused_per_second"` // responses with 503
	P99Micros   Spread `json:"p99_us"`             // of successes
}

// Table returns the figures as a table of Markdown.
func (o Overload) Table() string {
	rows := [][]string{{
		"operation", "server", fmt.Sprintf("capacity/s, %d connections", o.AtCapacity), "connections", "goodput/s", "goodput over capacity",
		"refused/s", "p99, ms", "peak memory, MiB",
	}}
	for _, s := range o.Servers {
		mib := func(n int64) string { return fmt.Sprintf("%.0f", float64(n)/(1<<20)) }
		for _, c := range s.Crowds {
			p99 := Spread{c.P99Micros.Median / 1000, c.P99Micros.Low / 1000, c.P99Micros.High / 1000}
			rows = append(rows, []string{
				s.Operation, s.Server, s.Capacity.format(0), fmt.Sprint(c.Connections), c.Goodput.format(0), c.OfCapacity.format(2),
				fmt.Sprintf("%.0f", c.Refused.Median), p99.format(0), mib(s.MemoryCapacity) + ", then " + mib(s.Memory),
			})
		}
	}
	return table(rows)
}
