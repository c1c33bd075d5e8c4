package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func healthCommand() *cobra.Command {
	var addr, adminAddr, certificate string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether the server on this machine is ready",
		Long: `health requests /readyz from the server on this machine, at its admin address if it
has one. It reads PETSTORE_ADMIN_ADDR, PETSTORE_ADDR and PETSTORE_TLS_CERT, as serve
does. The exit status is 0 only if the server is ready.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url := "http://" + cmp.Or(adminAddr, addr) + "/readyz"
			if adminAddr == "" && certificate != "" {
				url = "https://" + addr + "/readyz"
			}
			return askReady(cmd.Context(), url)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", defaultAddr, "the `address` that serve listens on")
	flags.StringVar(&adminAddr, "admin-addr", "", "the `address` of serve's --admin-addr, if any")
	flags.StringVar(&certificate, "tls-cert", "", "the `file` of serve's certificate, if any, for HTTPS")
	return cmd
}

func askReady(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	// The certificate is not checked: it names the public host, not this machine,
	// and the request has no secrets.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
	response, err := (&http.Client{Transport: transport, Timeout: 4 * time.Second}).Do(r)
	if err != nil {
		return fmt.Errorf("no response: %w; start the server, or correct --addr, --admin-addr or --tls-cert", err)
	}
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest:
		return fmt.Errorf("%s: the server expects HTTPS; set --tls-cert or its variable, as for serve", url)
	}
	return fmt.Errorf("%s: the server is not ready (status %d); its log says why", url, response.StatusCode)
}
