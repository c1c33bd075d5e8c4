package rig

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// OpenLoad describes a load that does not wait for the server: requests arrive at
// a rate, each on a connection that is free. Where none is, the request is lost:
// the client of a service that hangs does not come in either.
type OpenLoad struct {
	Request     []byte
	Status      string        // the status of a success; 503 is a refusal, all others are failures
	Rate        float64       // requests that arrive a second
	Connections int           // at least 1
	Duration    time.Duration // how long requests arrive
}

// OpenResult is the outcome of an OpenLoad.
type OpenResult struct {
	Arrived, Sent      int // requests; those not sent found no free connection
	Succeeded, Refused int
	PerSecond          float64       // successes
	P99                time.Duration // of successes, from the arrival
}

// Run loads s and fails where a response has a status of neither kind.
func (l OpenLoad) Run(s *Server) (OpenResult, error) {
	clients := make([]*openClient, l.Connections)
	for i := range clients {
		clients[i] = &openClient{load: l, addr: s.Addr}
		if err := clients[i].dial(); err != nil {
			return OpenResult{}, err
		}
	}
	arrivals := make(chan time.Time)
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { c.serve(arrivals) })
	}
	var result OpenResult
	start := time.Now()
	for now := start; now.Sub(start) < l.Duration; now = time.Now() {
		for due := int(now.Sub(start).Seconds() * l.Rate); result.Arrived < due; {
			select {
			case arrivals <- now:
				result.Sent++
				result.Arrived++
			default:
				result.Arrived = due
			}
		}
		time.Sleep(time.Millisecond / 2) // the rate is kept by the clock
	}
	took := time.Since(start)
	close(arrivals)
	wg.Wait()
	var times []time.Duration
	for _, c := range clients {
		if c.err != nil {
			return OpenResult{}, c.err
		}
		times = append(times, c.times...)
		result.Refused += c.refused
	}
	if len(times) == 0 {
		return OpenResult{}, fmt.Errorf("none of %d requests succeeded", result.Sent)
	}
	slices.Sort(times)
	result.Succeeded, result.P99 = len(times), times[len(times)*99/100]
	result.PerSecond = float64(len(times)) / took.Seconds()
	return result, nil
}

// patience is how long a server may stall before the load gives up.
const patience = 30 * time.Second

// openClient is one connection of an OpenLoad.
type openClient struct {
	load    OpenLoad
	addr    string
	conn    net.Conn
	read    *bufio.Reader
	times   []time.Duration
	refused int
	err     error
}

func (c *openClient) dial() error {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn, c.read = conn, bufio.NewReaderSize(conn, 16<<10)
	return conn.SetDeadline(time.Now().Add(c.load.Duration + patience))
}

// serve sends a request for each that arrives, until none will.
func (c *openClient) serve(arrivals <-chan time.Time) {
	defer func() { _ = c.conn.Close() }()
	for arrived := range arrivals {
		if c.err = c.send(arrived); c.err != nil {
			return
		}
	}
}

func (c *openClient) send(arrived time.Time) error {
	if _, err := c.conn.Write(c.load.Request); err != nil {
		return err
	}
	r, err := readResponse(c.read)
	if err != nil {
		return err
	}
	switch r.status {
	case c.load.Status:
		c.times = append(c.times, time.Since(arrived))
	case "503":
		c.refused++
	default:
		return fmt.Errorf("the response was %s, not %s", r.status, c.load.Status)
	}
	if r.closes {
		_ = c.conn.Close()
		return c.dial()
	}
	return nil
}
