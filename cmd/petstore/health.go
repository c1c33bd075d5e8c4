package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/server"
)

func healthCommand() *cobra.Command {
	var addr, certificate string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether the server on this machine is ready",
		Long: `health requests /readyz from the server on this machine. It reads PETSTORE_ADDR and
PETSTORE_TLS_CERT, as serve does. The exit status is 0 only if the server is ready.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url := "http://localhost/readyz"
			if certificate != "" {
				url = "https://localhost/readyz"
			}
			return askReady(cmd.Context(), addr, url)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", defaultAddr, "the `address` that serve listens on")
	flags.StringVar(&certificate, "tls-cert", "", "the `file` of serve's certificate, if any, for HTTPS")
	return cmd
}

// askReady asks the server that listens at addr.
func askReady(ctx context.Context, addr, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	// The certificate is not checked: it names the public host, not this machine,
	// and the request has no secrets.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		network, address := server.Network(addr)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	response, err := (&http.Client{Transport: transport, Timeout: 4 * time.Second}).Do(r)
	if err != nil {
		return fmt.Errorf("no response: %w; start the server, or correct --addr or --tls-cert", err)
	}
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest:
		return fmt.Errorf("%s: the server expects HTTPS; set --tls-cert or its variable, as for serve", addr)
	}
	return fmt.Errorf("%s: the server is not ready (status %d); its log says why", addr, response.StatusCode)
}
