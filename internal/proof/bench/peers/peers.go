// Package peers holds the servers that this service is measured against: the
// same three operations as other teams would build them, over a slice in memory.
// They are for measuring only.
package peers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Pets is how many pets a peer holds when it starts.
const Pets = 1000

// The names of the peers that ratios refer to.
const (
	NameConstant = "constant"
	NameEquipped = "equipped"
)

// Peer is a named server.
type Peer struct {
	Name, Description string
	New               func(log io.Writer) (http.Handler, error)
	Equipped          bool // whether its connections have time limits
}

// All returns the peers, the plainest first.
func All() []Peer {
	return []Peer{
		{Name: NameConstant, Description: "net/http sending constant bytes: the floor of the HTTP library", New: newConstant},
		{Name: "handwritten", Description: "Echo with encoding/json and hand-written checks, nothing else", New: newHandwritten},
		{Name: NameEquipped, Description: "handwritten with Echo's own middlewares and time limits: the server a team deploys", New: newEquipped, Equipped: true},
		{Name: "documented", Description: "oapi-codegen's strict server behind kin-openapi as their documentation combines them, nothing else", New: newDocumented},
	}
}

// Server returns the HTTP server of p around its handler.
func (p Peer) Server(h http.Handler) *http.Server {
	server := &http.Server{Handler: h}
	if p.Equipped {
		server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = 10*time.Second, 30*time.Second, 2*time.Minute
	}
	return server
}

// Serve serves the peer of that name until the process is killed, and prints its
// address.
func Serve(name string) error {
	for _, p := range All() {
		if p.Name != name {
			continue
		}
		h, err := p.New(os.Stderr)
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return p.Server(h).Serve(l)
	}
	return fmt.Errorf("there is no peer %q", name)
}

// pet is the peers' record.
type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// catalogue is the peers' store: the simplest that serves the same requests.
type catalogue struct {
	mu       sync.RWMutex
	pets     []pet
	byStatus map[string][]int64
}

func newCatalogue() *catalogue {
	s := &catalogue{byStatus: map[string][]int64{}}
	for i := range Pets {
		s.add(pet{Name: Name(i), CategoryID: int64(i % 5), Status: Status(i)})
	}
	return s
}

// Name returns the name of the i-th pet every server starts with.
func Name(i int) string { return [...]string{"Frank", "Kitty", "Luke", "Lucy", "*Bella"}[i%5] }

// Status returns the status of the i-th pet every server starts with.
func Status(i int) string { return [...]string{"available", "pending", "sold"}[i%3] }

func (s *catalogue) add(p pet) pet {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ID = int64(len(s.pets)) + 1
	s.pets = append(s.pets, p)
	s.byStatus[p.Status] = append(s.byStatus[p.Status], p.ID)
	return p
}

func (s *catalogue) get(id int64) (pet, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id < 1 || id > int64(len(s.pets)) {
		return pet{}, false
	}
	return s.pets[id-1], true
}

func (s *catalogue) list(status string, limit int) []pet {
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
