package main

import (
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
		RunE: func(*cobra.Command, []string) error {
			scheme, flag, listen, fix := "http", "admin-addr", adminAddr, "--admin-addr"
			if adminAddr == "" {
				flag, listen, fix = "addr", addr, "--addr or --tls-cert"
				if certificate != "" {
					scheme = "https"
				}
			}
			if err := checkListen(flag, listen); err != nil {
				return err
			}
			return askReady(scheme+"://"+listen+"/readyz", fix)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", defaultAddr, "the `address` that serve listens on")
	flags.StringVar(&adminAddr, "admin-addr", "", "the `address` of serve's --admin-addr, if any")
	flags.StringVar(&certificate, "tls-cert", "", "the `file` of serve's certificate, if any; the request then uses HTTPS")
	return cmd
}

func askReady(url, fix string) error {
	// The certificate is not checked: it names the public host, not this machine,
	// and the request has no secrets.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
	response, err := (&http.Client{Transport: transport, Timeout: 4 * time.Second}).Get(url)
	if err != nil {
		return fmt.Errorf("no response: %w; start the server, or correct %s", err, fix)
	}
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest: // net/http's answer to HTTP where it expects HTTPS
		return fmt.Errorf("%s: the server speaks HTTPS; set --tls-cert or %s to the file of its certificate", url, variableOf("tls-cert"))
	default:
		return fmt.Errorf("%s: the server is not ready (status %d); its log says why", url, response.StatusCode)
	}
}
