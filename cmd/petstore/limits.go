package main

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/edge/server"
)

// checkTLS returns an error where one of the two files is missing.
func (cfg serveConfig) checkTLS() error {
	switch {
	case cfg.tlsCert != "" && cfg.tlsKey == "":
		return errors.New("--tls-cert needs --tls-key, the file of its private key")
	case cfg.tlsKey != "" && cfg.tlsCert == "":
		return errors.New("--tls-key needs --tls-cert, the file of its certificate")
	}
	return nil
}

// checkLimits returns an error where a limit makes no sense.
func (cfg serveConfig) checkLimits() error {
	if cfg.maxInFlight < 1 {
		return fmt.Errorf("--max-in-flight %d must be 1 or more", cfg.maxInFlight)
	}
	if !(cfg.rateLimit >= 0) || math.IsInf(cfg.rateLimit, 0) {
		return errors.New("--rate-limit must be 0 or more requests a second")
	}
	return server.CheckMaxConnections(cfg.maxConnections)
}

// prefixes is a flag of networks; an address is the network of itself.
type prefixes []netip.Prefix

func addPrefixesFlag(flags *pflag.FlagSet, to *[]netip.Prefix, name, usage string) {
	flags.Var((*prefixes)(to), name, usage)
}

// Set implements pflag.Value: it adds the networks of a list.
func (p *prefixes) Set(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return fmt.Errorf("%q is no address and no network, such as 127.0.0.1 or 10.0.0.0/8", text)
		}
		*p = append(*p, prefix.Masked())
	}
	return nil
}

// String implements pflag.Value, as does Type.
func (p *prefixes) String() string {
	var texts []string
	for _, prefix := range *p {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ",")
}

// Type see String.
func (p *prefixes) Type() string { return "networks" }
