package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"

	"example.com/petstore/internal/old/reason"
)

// healthTimeout is above the 2 s that /readyz gives the store, and below the 5 s
// that supervisors commonly give a health check.
const healthTimeout = 4 * time.Second

func healthCommand() *cobra.Command {
	var addr, tlsCert string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the server here whether it is ready",
		Long: `health asks /readyz of the server that listens on --addr. It reads the same
variables as serve, so it needs no flag where those configure the server. It is
the health check of a container.

The exit status is 0 if the server is ready, else 1.`,
		Example: "  petstore health\n  petstore health --addr 127.0.0.1:8081",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ready, err := readyAddress(addr, tlsCert != "")
			if err != nil {
				return err
			}
			return askReady(cmd.Context(), ready)
		},
	}
	flags := cmd.Flags()
	program.AddListen(flags, &addr, "addr", "127.0.0.1:8080", "the address that serve listens on")
	flags.StringVar(&tlsCert, "tls-cert", "", "the `file` of the certificate that serve has, if any: the server is asked by HTTPS")
	return cmd
}

// readyAddress returns where to ask a server that listens on addr.
func readyAddress(addr string, https bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1" // the server listens on every address
	}
	scheme := "http"
	if https {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}

// noResponse says why there was no response.
func noResponse(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("none within %v", healthTimeout)
	}
	return reason.Of(err)
}

// askReady returns an error unless the server at address is ready.
func askReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// The certificate names the public host, not this machine. Nothing secret is
	// sent, so the name is not checked.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- see above
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("no response from %s: %w; start the server, or name its address with --addr", address, noResponse(err))
	}
	_ = response.Body.Close() // only the status counts
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server is not ready (status %d); its log says why", address, response.StatusCode)
	}
	return nil
}
