//go:build unix

package rig

import (
	"fmt"
	"os"
	"strings"
	"time"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// Cluster is a throwaway primary with standbys, each server a group of its own.
type Cluster struct {
	Servers []*pgtest.Server // the primary first
	groups  []*Group
}

// Durable are the settings of a server whose acknowledgements count, which pgtest's
// own are not.
var Durable = []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on", "shared_buffers=128MB", "max_wal_size=4GB", "autovacuum=off", "max_connections=200"}

// NewCluster starts a primary with so many standbys.
func NewCluster(standbys int) (*Cluster, error) {
	c := &Cluster{}
	for i := range 1 + standbys {
		server, err := c.start(i)
		if err == nil {
			c.Servers = append(c.Servers, server)
			err = c.count(i)
		}
		if err != nil {
			c.Remove()
			return nil, err
		}
	}
	return c, nil
}

func (c *Cluster) start(i int) (*pgtest.Server, error) {
	if i == 0 {
		return pgtest.New(Durable...)
	}
	return c.Servers[0].NewStandby(fmt.Sprintf("standby%d", i), Durable...)
}

func (c *Cluster) count(i int) error {
	g, err := NewGroup(fmt.Sprintf("petstore-%d-%d", os.Getpid(), i))
	if err != nil {
		return err
	}
	c.groups = append(c.groups, g)
	return g.Add(c.Servers[i].Processes()...)
}

// Hold allows each server so much of one processor, which 0 does not limit.
func (c *Cluster) Hold(share float64) error {
	for _, g := range c.groups {
		if err := g.Hold(share); err != nil {
			return err
		}
	}
	return nil
}

// ProcessorTime returns what a server has used.
func (c *Cluster) ProcessorTime(server int) (time.Duration, error) {
	return c.groups[server].ProcessorTime()
}

// ReplayTime returns what the process of a standby has used that replays the log.
func (c *Cluster) ReplayTime(server int) (time.Duration, error) {
	for _, pid := range c.Servers[server].Processes() {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(name), "startup") {
			return processorTime(pid)
		}
	}
	return 0, fmt.Errorf("server %d has no process that replays", server)
}

// SQL runs statements on the primary.
func (c *Cluster) SQL(statements ...string) (string, error) {
	args := []string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres"}
	for _, statement := range statements {
		args = append(args, "-c", statement)
	}
	out, err := c.Servers[0].Command("psql", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return string(out), nil
}

// Fill makes so many animals.
func (c *Cluster) Fill(animals int) error {
	_, err := c.SQL(fmt.Sprintf(`INSERT INTO pets (name, category_id, status)
SELECT 'Frank', n %% 5, (ARRAY['available', 'pending', 'sold'])[n %% 3 + 1] FROM generate_series(1, %d) n`, animals), "VACUUM ANALYZE pets", "CHECKPOINT")
	return err
}

// Remove ends the servers and removes all they held.
func (c *Cluster) Remove() {
	for _, s := range c.Servers {
		s.Remove()
	}
	for _, g := range c.groups {
		g.Remove()
	}
}
