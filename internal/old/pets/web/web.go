// Package web is the pet store as the edge serves it: its document, methods, keys,
// errors, limits and page.
package web

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"regexp"

	"example.com/petstore/internal/old/gen"
	"example.com/petstore/internal/old/gen/api"
	"example.com/petstore/internal/old/edge"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/pets/service"
)

// Name is the name of the service, in its challenges, metrics and variables.
const Name = "petstore"

// BasePath is the path of the document's servers; a test holds it to that.
const BasePath = "/v1"

// quickStart is the beginning of the page.
//
//go:embed quickstart.md
var quickStart string

// samples are the requests that the page shows beside each operation, by operationId,
// in the form of x-codeSamples. TestTheSamplesAreTheTestedOnes writes and checks them.
//
//go:embed samples.yaml
var samples []byte

// KeyPattern is the form of a key, whole or not; see pets.TokenPattern.
var KeyPattern = regexp.MustCompile(`psk_\w+`)

// The rows asked of the store at once are 50 MiB of the longest names, and the
// largest page has 100 names of 64 KiB.
const (
	mostRows    = 800
	largestPage = 100 * (66 << 10)
)

// Service returns the pet store on a store of pets, with these keys. publicURL is the
// address that ends in BasePath and with which links begin, or "" for relative ones.
func Service(version string, store pets.PetStore, ping func(context.Context) error, keyring *keys.Keyring, publicURL string) edge.Service {
	return edge.Service{
		Name:         Name,
		Version:      version,
		Document:     gen.Document,
		Operations:   Operations(Methods(store, publicURL)),
		Authenticate: authenticate(keyring),
		Authorize:    authorize,
		Problem:      service.Problem,
		Ready:        ready(ping),
		Rows:         service.RowsOf,
		Limits:       edge.Limits{Rows: mostRows, LargestResponse: largestPage},
		KeyPattern:   KeyPattern,
		QuickStart:   quickStart,
		Samples:      samples,
		PublicURL:    publicURL,
	}
}

// Methods returns the methods of the operations, as Service has them.
func Methods(store pets.PetStore, publicURL string) api.StrictServerInterface {
	return service.New(store, cmp.Or(publicURL, BasePath), func(ctx context.Context) string { return edge.Caller(ctx).ID })
}

// Operations returns the operations of the document with these methods.
func Operations(methods api.StrictServerInterface) edge.Operations {
	return edge.Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(methods)
}

// errUnknownKey is the error of any key that is not one of the store's.
var errUnknownKey = &edge.InvalidKey{Reason: string(keys.Unknown)}

// tells is what the holder of a key that works no more is told. It has neither the
// key's name nor a time.
var tells = map[keys.Refusal]string{
	keys.Expired: "the API key has expired",
	keys.Revoked: "the API key was revoked",
}

// authenticate asks the keyring. Of a caller's rights it says whether it may only
// read.
func authenticate(keyring *keys.Keyring) func(context.Context, string) (edge.Identity, error) {
	return func(ctx context.Context, token string) (edge.Identity, error) {
		grant, refusal, err := keyring.Authenticate(ctx, token)
		switch {
		case err != nil:
			return edge.Identity{}, err
		case refusal == keys.Unknown:
			return edge.Identity{}, errUnknownKey
		case refusal != keys.Accepted:
			return edge.Identity{}, &edge.InvalidKey{KeyID: grant.KeyID, Reason: string(refusal), Tell: tells[refusal]}
		}
		return edge.Identity{ID: grant.KeyID, Rights: grant.ReadOnly}, nil
	}
}

// ready says of a store that cannot serve whether its file is at fault.
func ready(ping func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*pets.FileFault](err); ok {
			return &edge.NotReady{Reason: "file", Err: err}
		}
		return &edge.NotReady{Reason: "store", Err: err}
	}
}

func authorize(caller edge.Identity, o edge.Operation) error {
	if readOnly, _ := caller.Rights.(bool); readOnly && !o.IsSafe() {
		return edge.Refuse(403, "forbidden", "this API key may only read; adding an animal needs another")
	}
	return nil
}
