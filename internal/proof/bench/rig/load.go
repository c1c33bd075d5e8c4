// Package rig measures over the loopback interface. It has servers in processes of
// their own, and two loads: in the closed loop of wrk every connection waits for a
// response, in the open loop requests arrive whatever the server does.
package rig

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// Result is the outcome of one load.
type Result struct {
	Requests  int
	PerSecond float64
	P99       time.Duration // a slow response counts for the requests, too, that it held up
	CPU       time.Duration // processor time of the server, a request; 0 outside Linux
	Received  int64         // bytes of all responses
}

// Load describes a load: every connection waits for a response before it sends
// the next request.
type Load struct {
	Requests    [][]byte      // taken in turns by all connections together
	Once        bool          // no request is sent twice; what is left of Duration passes idle
	Connections int           // at least 1
	Duration    time.Duration // in whole seconds, at least one
}

// failures is what wrk counts of each kind; Status is statuses of 400 or more.
type failures struct{ Connect, Read, Write, Status, Timeout int }

//go:embed load.lua
var script string

// Run loads s with wrk and fails where a request fails or a response has a status
// of 400 or more. wrk does not tell one success from another, so behind the load, unless
// it is Once, the first request is sent again and must have the success of its method.
func (l Load) Run(s *Server) (Result, error) {
	if l.Duration < time.Second || l.Duration%time.Second != 0 {
		return Result{}, fmt.Errorf("wrk runs for whole seconds, not for %v", l.Duration)
	}
	file, err := l.writeScript()
	if err != nil {
		return Result{}, err
	}
	defer os.Remove(file)
	cmd := exec.Command("wrk", "-t", "1", "-c", strconv.Itoa(l.Connections), "-d", fmt.Sprint(l.Duration.Seconds()), "-s", file, "http://"+s.Addr)
	cpu := s.ProcessorTime()
	out, err := cmd.CombinedOutput()
	cpu = s.ProcessorTime() - cpu
	if errors.Is(err, exec.ErrNotFound) {
		return Result{}, errors.New("wrk is not installed, which sends the load; try apt-get install wrk")
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var did struct {
		Requests  int
		Received  int64
		Micros    float64
		P99Micros int64 `json:"p99_micros"`
		Errors    failures
	}
	if err == nil {
		err = json.Unmarshal(lines[len(lines)-1], &did)
	}
	if err != nil {
		return Result{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	if did.Requests == 0 || did.Errors != (failures{}) {
		return Result{}, fmt.Errorf("wrk counts %d responses and these failures: %+v", did.Requests, did.Errors)
	}
	if !l.Once {
		if err := s.succeed(l.Requests[0]); err != nil {
			return Result{}, err
		}
	}
	return Result{
		Requests:  did.Requests,
		PerSecond: float64(did.Requests) / did.Micros * 1e6,
		P99:       time.Duration(did.P99Micros) * time.Microsecond,
		CPU:       cpu / time.Duration(did.Requests),
		Received:  did.Received,
	}, nil
}

// writeScript writes what wrk runs: the requests, as strings of Lua, and the script.
func (l Load) writeScript() (file string, err error) {
	f, err := os.CreateTemp("", "load*.lua")
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "once = %t\nrequests = {\n", l.Once)
	for _, r := range l.Requests {
		fmt.Fprintf(&text, "%q,\n", r)
	}
	fmt.Fprintf(&text, "}\n%s", script)
	_, err = f.Write(text.Bytes())
	return f.Name(), errors.Join(err, f.Close())
}
