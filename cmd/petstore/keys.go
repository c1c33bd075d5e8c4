package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keyring"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

func keysCommand(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long: `keys manages the API keys of a store, also while servers run on it: they notice
within 5 seconds. A store keeps only a hash of each key.`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreateCommand(), keysListCommand(), keysRevokeCommand(env))
	return cmd
}

func keysCreateCommand() *cobra.Command {
	var address string
	var lifetime time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print it, this once",
		Long: `create makes an API key and prints it, alone, on standard output. It cannot be
shown again. NAME is a note of who uses the key. The store is made if need be.`,
		Example: `  petstore keys create "nightly import"
  KEY=$(petstore keys create demo --expires-in 720h)`,
		Args: exactly(1, " NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), address, notifyOn(cmd.ErrOrStderr()), func(ctx context.Context, s petstore.KeyStore) error {
				k, token, err := petstore.NewKey(args[0], time.Now(), lifetime)
				if err != nil {
					return usageError{err}
				}
				if err := s.CreateKey(ctx, k); err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
				return err
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().DurationVar(&lifetime, "expires-in", 0, "how long the key works, such as 720h; 0 for ever")
	return cmd
}

func keysListCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without what is secret of them",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd.Context(), address, store.ReadOnly, func(ctx context.Context, s petstore.KeyStore) error {
				keys, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				return printKeys(cmd.OutOrStdout(), keys, time.Now())
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	return cmd
}

func printKeys(out io.Writer, keys []petstore.Key, now time.Time) error {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "ID\tSTATE\tCREATED\tEXPIRES\tREVOKED\tNAME")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.State(now), day(k.CreatedAt), day(k.ExpiresAt), day(k.RevokedAt), k.Name)
	}
	return t.Flush()
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func keysRevokeCommand(env environment) *cobra.Command {
	var address string
	var yes bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a key for good",
		Long: `revoke ends a key, named by its ID as "petstore keys list" shows it. Servers turn
it away within 5 seconds. It cannot be taken back; at a terminal it asks first.`,
		Args: exactly(1, " ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), address, store.MustExist, func(ctx context.Context, s petstore.KeyStore) error {
				k, err := s.Key(ctx, args[0])
				if err != nil {
					return explainKey(err)
				}
				if env.interactive && !yes && !confirm(cmd, fmt.Sprintf("Revoke the key %s (%s) for good?", k.ID, k.Name)) {
					return errors.New("nothing was revoked")
				}
				if k, err = s.RevokeKey(ctx, k.ID, time.Now()); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "revoked %s (%s)\n", k.ID, k.Name)
				return err
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask at a terminal")
	return cmd
}

func explainKey(err error) error {
	if petstore.KindOf(err) == petstore.NotFound {
		return fmt.Errorf("%w; petstore keys list shows those there are", err)
	}
	return err
}

func confirm(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// withKeys runs f on the keys of the store at that address.
func withKeys(ctx context.Context, address string, option store.Option, f func(context.Context, petstore.KeyStore) error) (err error) {
	if address == store.Memory {
		return errors.New("the store memory: keeps no keys between programs; give its server keys by PETSTORE_API_KEYS, or use --store sqlite:PATH")
	}
	s, err := store.Open(ctx, address, option)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(ctx, s)
}

// ensureKey sees to it that somebody can use the server: where there is no key
// at all, it makes one for the person at the terminal, or logs how to make one.
// A store in memory that nobody could ever give a key is refused.
func ensureKey(ctx context.Context, env environment, logger *slog.Logger, cfg serveConfig, s petstore.KeyStore, keys *keyring.Keyring, addr net.Addr) error {
	if keys.Fixed() > 0 {
		return nil
	}
	existing, err := s.Keys(ctx)
	switch {
	case err != nil:
		return err
	case len(existing) > 0:
		return nil
	case env.interactive:
		k, token, err := petstore.NewKey("made by the first start", time.Now(), 0)
		if err != nil {
			return err
		}
		if err := s.CreateKey(ctx, k); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, `
This store has no API key yet, so here is one. It is shown only this once:

  %s

Try it from another interactive:

  curl -H 'Authorization: Bearer %s' http://%s%s/pets

or in a browser, at http://%s%s

`, token, token, addr, edge.BasePath, addr, edge.DocsPath)
		return err
	case cfg.store == store.Memory:
		return errors.New("the store memory: has no key, and nobody could give it one later; set PETSTORE_API_KEYS")
	}
	logger.Warn("the store has no API key yet, so every request is refused", "fix", "petstore keys create NAME --store "+store.Redact(cfg.store))
	return nil
}
