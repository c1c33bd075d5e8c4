package main

import (
	"errors"
	"fmt"
	"strings"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// advice says what to do about errors whose next step cannot be guessed. STORE stands
// for --store with its address.
var advice = []struct {
	about error
	text  string
}{
	{store.ErrNoStore, "check the address and that its volume is mounted, or make one with: petstore migrate STORE"},
	{store.ErrOutdated, "stop its servers, then run: petstore migrate STORE"},
	{sqlite.ErrExists, "choose another name, or replace it with --force"},
	{sqlite.ErrDamaged, "restore a backup with: petstore restore BACKUP --force STORE"},
	{sqlite.ErrLoneLog, "put the database back beside it, or replace both with: petstore restore BACKUP --force STORE"},
	{postgres.ErrNoDatabase, "create it with: createdb -O petstore -E UTF8 -T template0 NAME"},
	{postgres.ErrMayNotMigrate, "as the owner of its tables, run: petstore migrate STORE"},
}

// advise adds to an error of the store at addr what to do about it, if there is advice.
func advise(err error, addr address.Address) error {
	for _, a := range advice {
		if errors.Is(err, a.about) {
			return fmt.Errorf("%w; %s", err, strings.ReplaceAll(a.text, "STORE", "--store "+addr.String()))
		}
	}
	return err
}
