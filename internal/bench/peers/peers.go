// Package peers holds what this service is measured against: servers of the
// same three operations as others would build them. None of them authenticates,
// logs, identifies requests or keeps anything durable; they are for measuring.
package peers

import (
	"net/http"
	"sync"
)

// Pets is how many pets a peer holds when it starts.
const Pets = 1000

// Peer is a named server.
type Peer struct {
	Name, What string
	New        func() (http.Handler, error)
	Dressed    bool // served with this service's time limits
}

// All returns the peers, the plainest first.
func All() []Peer {
	return []Peer{
		{Name: "constant", What: "net/http sending constant bytes: the floor of the HTTP library", New: Constant},
		{Name: "dressed", What: "constant, with this service's headers and time limits: the floor under its promises", New: Dressed, Dressed: true},
		{Name: "handwritten", What: "Echo with encoding/json and hand-written checks", New: Handwritten},
		{Name: "documented", What: "oapi-codegen's strict server behind kin-openapi, as documented", New: Documented},
	}
}

// pet is the peers' record.
type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// shelf is the peers' store: the simplest that serves the same requests.
type shelf struct {
	mu       sync.RWMutex
	pets     []pet
	byStatus map[string][]int64
}

func newShelf() *shelf {
	s := &shelf{byStatus: map[string][]int64{}}
	for i := range Pets {
		s.add(pet{Name: Name(i), CategoryID: int64(i % 5), Status: Status(i)})
	}
	return s
}

// Name returns the name of the i-th pet every server starts with.
func Name(i int) string { return [...]string{"Frank", "Kitty", "Luke", "Lucy", "*Bella"}[i%5] }

// Status returns the status of the i-th pet every server starts with.
func Status(i int) string { return [...]string{"available", "pending", "sold"}[i%3] }

func (s *shelf) add(p pet) pet {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ID = int64(len(s.pets)) + 1
	s.pets = append(s.pets, p)
	s.byStatus[p.Status] = append(s.byStatus[p.Status], p.ID)
	return p
}

func (s *shelf) get(id int64) (pet, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id < 1 || id > int64(len(s.pets)) {
		return pet{}, false
	}
	return s.pets[id-1], true
}

func (s *shelf) list(status string, limit int) []pet {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]pet, 0, limit)
	if status == "" {
		return append(out, s.pets[:min(limit, len(s.pets))]...)
	}
	ids := s.byStatus[status]
	for _, id := range ids[:min(limit, len(ids))] {
		out = append(out, s.pets[id-1])
	}
	return out
}
