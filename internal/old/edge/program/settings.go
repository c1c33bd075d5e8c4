package program

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/logging"
	"example.com/petstore/internal/old/edge/server"
)

// Settings are what an operator says of a program by flags and variables.
type Settings struct {
	Addr, PublicURL string
	TLSCert, TLSKey string // files
	Drain           time.Duration
	MaxConnections  int
	MaxInFlight     int
	RateLimit       float64
	TrustedProxies  []netip.Prefix
	AdminAddr       string
	Profiles        bool
	LogLevel        string
	LogFormat       string
}

// AddFlags adds the flags that set s.
func (s *Settings) AddFlags(flags *pflag.FlagSet) {
	AddListen(flags, &s.Addr, "addr", "127.0.0.1:8080", "the address to listen on; :0 takes any free port")
	flags.Var(Judged{To: &s.PublicURL, Kind: "address", Judge: CheckPublicURL}, "public-url", "the address that clients use where a proxy stands between, such as https://api.example.com/v1; links in responses become absolute")
	flags.StringVar(&s.TLSCert, "tls-cert", "", "the `file` of a certificate and its chain, in PEM form, to serve HTTPS with HTTP/1.1 and HTTP/2; loaded anew when it changes")
	flags.StringVar(&s.TLSKey, "tls-key", "", "the `file` of the private key of --tls-cert, in PEM form")
	AddDuration(flags, &s.Drain, "drain", server.DefaultDrain, "how long to serve on after SIGTERM while /readyz says no, so that load balancers turn away first")
	flags.IntVar(&s.MaxConnections, "max-connections", 0, "the most connections of this process; at the limit the longest idle one without a valid key is closed first; 0 for 4096, or fewer where it may open fewer files")
	flags.IntVar(&s.MaxInFlight, "max-in-flight", 256, "the most calls of operations that this process has under way; twice as many may wait, others get 503 at once; each process counts its own")
	flags.Float64Var(&s.RateLimit, "rate-limit", 0, "how many requests a second an API key, or a client's address where no key is needed, may make; others get 429; 0 for any number; each process counts its own")
	flags.Var((*networks)(&s.TrustedProxies), "trusted-proxies", "the proxies before this server, such as 127.0.0.1 or 10.0.0.0/8; their X-Forwarded-For tells a client's address to the log, and to the limits where no key is needed; repeat it or separate by commas")
	flags.Var(Judged{To: &s.AdminAddr, Kind: "address", Judge: checkAdmin}, "admin-addr", "the address of /metrics for Prometheus, such as 127.0.0.1:9090 or :9090, which only this machine reaches; empty for no metrics")
	flags.BoolVar(&s.Profiles, "pprof", false, "serve /debug/pprof/ at --admin-addr too; profiles can hold secrets")
	AddChoice(flags, &s.LogLevel, "log-level", "info", "the least level to log: debug (probes too), info, warn or error", "debug", "info", "warn", "error")
	AddChoice(flags, &s.LogFormat, "log-format", "auto", "how to log: text, json, or auto, which is text at a terminal and json otherwise", "auto", "text", "json")
}

// check completes the settings, and returns a UsageError where they make no sense
// together.
func (s *Settings) check() error {
	if s.MaxConnections == 0 {
		s.MaxConnections = server.DefaultMaxConnections()
	}
	if err := errors.Join(s.checkTLS(), s.checkLimits(), s.checkAdmin()); err != nil {
		return UsageError{err}
	}
	return nil
}

func (s *Settings) checkTLS() error {
	switch {
	case s.TLSCert != "" && s.TLSKey == "":
		return errors.New("--tls-cert needs --tls-key, the file of its private key")
	case s.TLSKey != "" && s.TLSCert == "":
		return errors.New("--tls-key needs --tls-cert, the file of its certificate")
	}
	return nil
}

func (s *Settings) checkLimits() error {
	if s.MaxInFlight < 1 {
		return fmt.Errorf("--max-in-flight %d must be 1 or more", s.MaxInFlight)
	}
	if !(s.RateLimit >= 0) || math.IsInf(s.RateLimit, 0) {
		return errors.New("--rate-limit must be 0 or more requests a second")
	}
	if s.Drain < 0 {
		return errors.New("--drain must be 0 or more")
	}
	return server.CheckMaxConnections(s.MaxConnections)
}

func (s *Settings) checkAdmin() error {
	if s.Profiles && s.AdminAddr == "" {
		return errors.New("--pprof needs --admin-addr, where profiles are served")
	}
	return nil
}

// log returns the options of the log, whose flags have been judged.
func (s *Settings) log(terminal bool) logging.Options {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	return logging.Options{Level: levels[s.LogLevel], Text: s.LogFormat == "text" || s.LogFormat == "auto" && terminal}
}

// drainAfter returns how long to serve on once the program has been told to end for
// that cause: a person who presses Ctrl-C does not want to wait.
func (s *Settings) drainAfter(cause error) time.Duration {
	if i, ok := errors.AsType[*Interruption](cause); ok && i.Signal == syscall.SIGINT {
		return 0
	}
	return s.Drain
}
