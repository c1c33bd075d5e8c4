package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is below the 5 s that supervisors commonly give a health check.
const healthTimeout = 4 * time.Second

func healthCommand() *cobra.Command {
	var addr, certificate string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the server on this machine whether it is ready",
		Long: `health asks /readyz of the server that listens on --addr. It is the health check
of a container. It reads the same variables as serve, so it needs no flags where
those configure the server.

The exit status is 0 if the server is ready, else 1.`,
		Example: "  petstore health\n  petstore health --addr 127.0.0.1:8081",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkListen("addr", addr); err != nil {
				return err
			}
			return askReady(cmd.Context(), readyURL(addr, certificate != ""))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", defaultAddr, "the `address` that serve listens on")
	flags.StringVar(&certificate, "tls-cert", "", "the `file` of the certificate that serve has, if any: the server is then asked by HTTPS")
	return cmd
}

// readyURL returns where to ask a server that listens on addr.
func readyURL(addr string, https bool) string {
	host, port, _ := net.SplitHostPort(addr) // it was checked
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	if https {
		u.Scheme = "https"
	}
	return u.String()
}

func askReady(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// The certificate names the public host, not this machine, and nothing secret
	// is sent, so it is not checked.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
	response, err := (&http.Client{Transport: transport, Timeout: healthTimeout}).Do(request)
	if err != nil {
		return fmt.Errorf("no response: %w; start the server, or name its address with --addr", err)
	}
	_ = response.Body.Close() // only the status counts
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server is not ready (status %d); its log says why", url, response.StatusCode)
	}
	return nil
}
