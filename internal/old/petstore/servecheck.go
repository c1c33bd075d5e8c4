package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"example.com/petstore/internal/old/edge"
	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// checkServe does what serve does before it takes a port, changes nothing, and prints
// what would be served. What only a port or a write can tell stays unknown.
func checkServe(ctx context.Context, env environment, cfg serveConfig, p *program.Program) error {
	certificate := "none: plain HTTP"
	if p.TLSCert != "" {
		expiry, err := p.CheckCertificate()
		if err != nil {
			return err
		}
		certificate = fmt.Sprintf("%s, until %s", p.TLSCert, expiry.UTC().Format(time.DateOnly))
	}
	preview, err := previewStore(ctx, env, cfg, p)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "address\t%s\n", p.Addr)
	if p.PublicURL != "" {
		fmt.Fprintf(out, "public address\t%s\n", p.PublicURL)
	}
	fmt.Fprintf(out, "certificate\t%s\n", certificate)
	fmt.Fprintf(out, "store\t%s\n", visible(preview.store))
	fmt.Fprintf(out, "keys\t%s\n", preview.keys)
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, "serve would start with these; no port was tried, and nothing was changed")
	return err
}

// preview is the store that a server would have, and its keys.
type preview struct{ store, keys string }

func previewStore(ctx context.Context, env environment, cfg serveConfig, p *program.Program) (v preview, err error) {
	v.store = store.Redact(cfg.store)
	state, err := store.Look(ctx, cfg.store, cfg.mustExist)
	switch {
	case err != nil:
		return v, err
	case state == store.Missing && cfg.sandbox:
		v.store += ", with 300 animals"
	case state == store.Missing:
		v.store += ", which would be made"
	case state == store.Older:
		v.store += ", whose schema would be brought up to date"
	}
	address := cfg.store
	if state != store.Current {
		address = store.Memory // in its place, for the rest of the checks
	}
	st, err := store.Open(ctx, address, store.ReadOnly)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if state != store.Older { // of which only a start can tell
		err = cfg.checkCluster(ctx, st, p.Logger)
	}
	if err != nil {
		return v, err
	}
	keyring, err := keys.New(st, cfg.apiKeys, time.Now)
	if err != nil {
		return v, err
	}
	if _, err := edge.New(web.Service(programVersion(), st, st.Ping, keyring, p.PublicURL)); err != nil {
		return v, err
	}
	v.keys, err = previewKeys(ctx, env, cfg, st, state)
	return v, err
}

func previewKeys(ctx context.Context, env environment, cfg serveConfig, st pets.KeyStore, state store.State) (string, error) {
	all, err := st.Keys(ctx)
	if err != nil {
		return "", err
	}
	now := time.Now()
	working := len(slices.DeleteFunc(slices.Clone(all), func(k pets.Key) bool { return k.State(now) != pets.KeyActive }))
	switch {
	case state == store.Older:
		return fmt.Sprintf("%d fixed, and those of the store", len(cfg.apiKeys)), nil
	case len(cfg.apiKeys)+working > 0:
		return fmt.Sprintf("%d fixed, %d of the store that work", len(cfg.apiKeys), working), nil
	case cfg.sandbox, len(all) == 0 && env.interactive:
		return "one would be made and shown", nil
	case cfg.store == store.Memory:
		return "", errNoKeyEver
	}
	return "none that works: every request would be refused; make one with petstore keys create NAME", nil
}
