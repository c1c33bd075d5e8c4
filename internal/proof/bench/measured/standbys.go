package measured

import "fmt"

// Standbys is the figures of lists that standbys serve. Each ratio is of two figures
// of one round.
type Standbys struct {
	Clients int     `json:"clients"`
	Share   float64 `json:"share"` // of a processor, for each server that is held

	ByPrimary  Spread `json:"by_primary_us"`  // processor time of the primary, a list that it serves
	ByStandbys Spread `json:"by_standbys_us"` // the same, a list that two standbys serve
	Saved      Spread `json:"saved"`          // the first over the second
	One        Spread `json:"one_per_second"` // lists with one standby, each server held
	Two        Spread `json:"two_per_second"` // likewise with two
	Grown      Spread `json:"grown"`          // the second over the first
}

// Table returns the figures as a table of Markdown.
func (s Standbys) Table() string {
	return table([][]string{
		{"lists with " + fmt.Sprint(s.Clients) + " clients", "without", "with", "ratio"},
		{"processor time of the primary a list, µs: two standbys serve", s.ByPrimary.format(1), s.ByStandbys.format(1), s.Saved.format(1)},
		{fmt.Sprintf("lists/s, each server with %.0f %% of a processor: a second standby", 100*s.Share), s.One.format(0), s.Two.format(0), s.Grown.format(2)},
	})
}

// The least that reads by standbys must earn.
const (
	leastSaved = 5
	leastGrown = 1.8
)

// Check returns an error where the medians are below what --reads standbys promises.
func (s Standbys) Check() error {
	if s.Saved.Median < leastSaved || s.Grown.Median < leastGrown {
		return fmt.Errorf("the primary's processor time a list went down %.1f times and lists a second grew %.2f times, not at least %d and %.1f times", s.Saved.Median, s.Grown.Median, leastSaved, leastGrown)
	}
	return nil
}
