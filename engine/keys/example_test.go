package keys_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/petstore/engine/keys"
)

// one is a store of one key.
type one struct {
	keys.Store
	key keys.Key
}

func (o one) Key(_ context.Context, id string) (keys.Key, error) {
	if id != o.key.ID {
		return keys.Key{}, keys.ErrNotFound
	}
	return o.key, nil
}

func Example() {
	key, token, err := keys.New("demo", "nightly import", false, time.Now(), 0)
	if err != nil {
		log.Fatal(err)
	}
	keyring := keys.NewKeyring(one{key: key}, nil) // the store keeps the key; nothing keeps the token
	got, err := keyring.Authenticate(context.Background(), token)
	fmt.Println(got.Name, err)
	_, err = keyring.Authenticate(context.Background(), token+"0")
	fmt.Println(err)
	// Output:
	// nightly import <nil>
	// unauthorized
}
