package main

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/petstore/internal/proof/bench/rig"
)

// countingServer is this service on SQLite with its metrics on, which tell how
// many creates share a commit. It is a process of its own, since metrics cost
// processor time and a default server has none.
type countingServer struct {
	*rig.Server
	metrics string // their address
}

// startCounting starts the server where creates on SQLite are measured, and
// otherwise returns nil.
func startCounting(cfg config, dir string) (*countingServer, error) {
	if !strings.Contains(onSQLite, cfg.only) || !strings.Contains(create, cfg.operation) {
		return nil, nil
	}
	admin, err := rig.FreeAddr()
	if err != nil {
		return nil, err
	}
	s, err := rig.Petstore{
		Name: "petstore sqlite with metrics", Program: cfg.petstore, Dir: dir,
		Store: "sqlite:" + filepath.Join(dir, "counted.db"),
		Flags: []string{"--admin-addr", admin},
	}.Start()
	if err != nil {
		return nil, err
	}
	return &countingServer{s, "http://" + admin + "/metrics"}, nil
}

// meanBatch loads the server and returns how many creates shared a commit.
func (s *countingServer) meanBatch(creates rig.Load) (float64, error) {
	commits, writes, err := s.counters()
	if err != nil {
		return 0, err
	}
	if _, err := creates.Run(s.Server); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Name, err)
	}
	commitsAfter, writesAfter, err := s.counters()
	if err == nil && commitsAfter == commits {
		err = fmt.Errorf("%s: the metrics count no commits", s.Name)
	}
	return (writesAfter - writes) / (commitsAfter - commits), err
}

func (s *countingServer) counters() (commits, writes float64, err error) {
	r, err := http.Get(s.metrics)
	if err != nil {
		return 0, 0, err
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "petstore_sqlite_commits_total":
			commits, err = strconv.ParseFloat(value, 64)
		case "petstore_sqlite_writes_total":
			writes, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return commits, writes, nil
}
