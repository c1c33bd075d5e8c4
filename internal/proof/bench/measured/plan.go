package measured

import (
	"fmt"
	"math"
)

// Plan is the figures from which operators can plan: the cost of each operation, and
// a prediction made of them that was held against a measurement.
type Plan struct {
	Costs       []Cost  `json:"costs"`
	AnimalBytes float64 `json:"animal_bytes"` // on the disk of a database, with its indexes
	IndexBytes  float64 `json:"index_bytes"`  // of these in the indexes
	Memory      float64 `json:"memory_bytes"` // of a replica under load
	Questions   float64 `json:"questions"`    // processors of the primary that one replica uses to ask for its position, at most
	Held        Held    `json:"held"`
}

// Cost is what a request costs where 64 clients send the mix.
type Cost struct {
	Operation string  `json:"operation"`
	Service   float64 `json:"service_us"` // processor time
	Primary   float64 `json:"primary_us"`
	Standby   float64 `json:"standby_us"`    // to receive and replay a create, or to serve a read
	Replay    float64 `json:"replay_us"`     // of that in the one process that replays
	Log       float64 `json:"log_bytes"`     // of the program
	WAL       float64 `json:"wal_bytes"`     // write-ahead log of the database
	Network   float64 `json:"network_bytes"` // request and response
}

// Held is a service and a primary, each held to a share of a processor, and the
// requests a second that they answer.
type Held struct {
	Service   float64 `json:"service_share"`
	Primary   float64 `json:"primary_share"`
	Predicted float64 `json:"predicted_per_second"`
	Measured  Spread  `json:"measured_per_second"`
}

// Mixed is the share of each operation in the requests of a plan: nine reads to a
// create.
var Mixed = map[string]float64{"list": 0.6, "get": 0.3, "create": 0.1}

// Mean returns the mean of a cost over the mix.
func (p Plan) Mean(of func(Cost) float64) (sum float64) {
	for _, c := range p.Costs {
		sum += Mixed[c.Operation] * of(c)
	}
	return sum
}

// Of returns the cost of an operation.
func (p Plan) Of(operation string) Cost {
	for _, c := range p.Costs {
		if c.Operation == operation {
			return c
		}
	}
	return Cost{}
}

// Predict returns how many mixed requests a second so much of a processor for the
// service and for the primary holds: the part that is used up first decides.
func (p Plan) Predict(service, primary float64) float64 {
	return min(
		service*1e6/p.Mean(func(c Cost) float64 { return c.Service }),
		primary*1e6/p.Mean(func(c Cost) float64 { return c.Primary }),
	)
}

// greatestError is how far the prediction may be from the measurement.
const greatestError = 0.25

// Check returns an error where the prediction is too far from the measurement.
func (p Plan) Check() error {
	if miss := p.Held.miss(); math.Abs(miss) > greatestError {
		return fmt.Errorf("predicted %.0f requests a second and measured %.0f: %.0f %% apart, not at most %.0f", p.Held.Predicted, p.Held.Measured.Median, 100*miss, 100*greatestError)
	}
	return nil
}

func (h Held) miss() float64 { return h.Predicted/h.Measured.Median - 1 }

// Table returns the costs as a table of Markdown.
func (p Plan) Table() string {
	rows := [][]string{{"a request", "share of the mix", "service, µs", "primary, µs", "standby, µs", "of that replay, µs", "program's log, bytes", "write-ahead log, bytes", "network, bytes"}}
	for _, c := range p.Costs {
		rows = append(rows, []string{
			c.Operation, fmt.Sprintf("%.0f %%", 100*Mixed[c.Operation]), fmt.Sprintf("%.1f", c.Service), fmt.Sprintf("%.1f", c.Primary),
			fmt.Sprintf("%.1f", c.Standby), fmt.Sprintf("%.1f", c.Replay), fmt.Sprintf("%.0f", c.Log), fmt.Sprintf("%.0f", c.WAL), fmt.Sprintf("%.0f", c.Network),
		})
	}
	return table(rows)
}

// HeldTable returns the prediction and the measurement as a table of Markdown.
func (p Plan) HeldTable() string {
	h := p.Held
	return table([][]string{
		{"held to", "predicted, requests/s", "measured, requests/s", "apart"},
		{
			fmt.Sprintf("%.2f processors of the service, %.2f of the primary", h.Service, h.Primary),
			fmt.Sprintf("%.0f", h.Predicted), h.Measured.format(0), fmt.Sprintf("%.0f %%", 100*math.Abs(h.miss())),
		},
	})
}
