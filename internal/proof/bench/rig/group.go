package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Group is processes, and all that they start, whose processor time is counted and
// may be held to a share: a control group of Linux. Only root can make one.
type Group struct {
	limits, account string // folders; one and the same since version 2
}

// period is the time over which a share is kept: a group that has used its share of
// a period stands still until the next.
const period = 20 * time.Millisecond

// NewGroup makes a group. No other group of the machine has that name.
func NewGroup(name string) (*Group, error) {
	const root = "/sys/fs/cgroup"
	g := &Group{filepath.Join(root, "cpu", name), filepath.Join(root, "cpuacct", name)}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		g = &Group{filepath.Join(root, name), filepath.Join(root, name)}
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{g.limits, g.account} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("shares of a processor need control groups, and root: %w", err)
		}
	}
	// The other work of the machine takes little from a group of the highest weight.
	file, weight := "cpu.weight", "10000"
	if !g.unified() {
		file, weight = "cpu.shares", "262144"
	}
	return g, os.WriteFile(filepath.Join(g.limits, file), []byte(weight), 0)
}

func (g *Group) unified() bool { return g.limits == g.account }

// Add moves processes into the group.
func (g *Group) Add(pids ...int) error {
	for _, dir := range []string{g.limits, g.account} {
		for _, pid := range pids {
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Hold allows the group so much of one processor, which 0 does not limit.
func (g *Group) Hold(share float64) error {
	quota := int64(share * float64(period.Microseconds()))
	file, text := "cpu.max", fmt.Sprintf("%d %d", quota, period.Microseconds())
	if share == 0 {
		text, quota = "max", -1
	}
	if !g.unified() {
		if err := os.WriteFile(filepath.Join(g.limits, "cpu.cfs_period_us"), []byte(strconv.FormatInt(period.Microseconds(), 10)), 0); err != nil {
			return err
		}
		file, text = "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)
	}
	return os.WriteFile(filepath.Join(g.limits, file), []byte(text), 0)
}

// ProcessorTime returns what the group has used.
func (g *Group) ProcessorTime() (time.Duration, error) {
	if !g.unified() {
		text, err := os.ReadFile(filepath.Join(g.account, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return time.Duration(n), err
	}
	text, err := os.ReadFile(filepath.Join(g.account, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text)) // usage_usec N …
	if len(fields) < 2 {
		return 0, errors.New("cpu.stat tells no usage")
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n) * time.Microsecond, err
}

// Remove removes the group once its processes have ended, all but this one.
func (g *Group) Remove() {
	for _, dir := range []string{g.limits, g.account} {
		_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
		_ = os.Remove(dir)
	}
}
