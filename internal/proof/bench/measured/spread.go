package measured

import (
	"fmt"
	"math"
	"slices"
)

// Spread is the median of a figure's rounds and the two quartiles around it,
// between which half of the rounds lie.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// SpreadOf returns the spread of the rounds' values, the zero value of none.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	quartile := func(n int) float64 {
		return math.Round(sorted[n*(len(sorted)-1)/4]*1000) / 1000
	}
	return Spread{Median: quartile(2), Low: quartile(1), High: quartile(3)}
}

// format returns the median and, in brackets, the quartiles.
func (s Spread) format(decimals int) string {
	if s == (Spread{}) {
		return ""
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", decimals, s.Median, decimals, s.Low, decimals, s.High)
}
