package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// runningProgram is the program while it runs, in this process.
type runningProgram struct {
	stdout, stderr output
	cancel         context.CancelFunc
	exited         chan int
}

func (p *runningProgram) start(ctx context.Context, cancel context.CancelFunc, env environment) {
	p.cancel = cancel
	p.exited = make(chan int, 1)
	go func() { p.exited <- run(ctx, env) }()
}

var servingLine = regexp.MustCompile(`msg"?[=:]"?serving"?.*address"?[=:]"?(https?://[^" ]+)`)

// address waits for the line that says where the server listens.
func (p *runningProgram) address() (string, error) {
	for end := time.Now().Add(giveUp); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if match := servingLine.FindStringSubmatch(p.stderr.String()); match != nil {
			return match[1], nil
		}
		select {
		case code := <-p.exited:
			p.exited <- code
			return "", fmt.Errorf("the server ended with %d before it served: %s", code, p.stderr.String())
		default:
		}
	}
	return "", fmt.Errorf("the server says nowhere that it serves: %s", p.stderr.String())
}

var tokenPattern = regexp.MustCompile(`psk_[0-9A-Za-z]{8}_\w+`)

// end stops the program and returns what is wrong with its end: another exit
// status than 0, or an API key in its log.
func (p *runningProgram) end(secrets ...string) error {
	p.cancel()
	select {
	case code := <-p.exited:
		if code != 0 {
			return fmt.Errorf("exit status: got %d, want 0: %s", code, p.stderr.String())
		}
	case <-time.After(giveUp):
		return fmt.Errorf("the server does not end: %s", p.stderr.String())
	}
	log := p.stderr.String()
	for _, secret := range append(secrets, tokenPattern.FindString(log)) {
		if secret != "" && strings.Contains(log, secret) {
			return fmt.Errorf("log: got the API key %s in it, want none: %s", secret, log)
		}
	}
	return nil
}

// output is a buffer that is read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
