package main

import (
	"errors"
	"fmt"
	"strings"

	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/address"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// advice says what to do about an error. STORE stands for --store with its address.
var advice = []struct {
	about error
	text  string
}{
	{sqlite.ErrNoDatabase, "mount its volume, name another with --store, or create one with: petstore keys create NAME STORE"},
	{sqlite.ErrNoFolder, "mount its volume, or choose another folder"},
	{sqlite.ErrDangling, "mount its volume"},
	{sqlite.ErrStoreFile, "choose another name"},
	{sqlite.ErrExists, "choose another name, or replace it with --force"},
	{sqlite.ErrForeign, "choose another file"},
	{sqlite.ErrNotSQLite, "choose another file, or, if it was a store, restore a backup with: petstore restore BACKUP --force STORE"},
	{sqlite.ErrDamaged, "restore a backup with: petstore restore BACKUP --force STORE"},
	{sqlite.ErrDamagedPage, "petstore verify --store sqlite:FILE shows what is damaged"},
	{sqlite.ErrNewer, "run a newer petstore"},
	{sqlite.ErrLoneLog, "put the database back beside it, or replace both with: petstore restore BACKUP --force STORE"},
	{sqlite.ErrLocked, "stop that process or wait, then try again"},
	{sqlite.ErrOpening, "wait until that is done"},
	{sqlite.ErrOpen, "stop it, then restore again"},
	{sqlite.ErrFull, "free some space, then start again"},
	{sqlite.ErrMayNotLast, "restore it again with --force"},
	{sqlite.ErrReplaced, "put the right file back and start again"},
	{postgres.ErrAddress, "give postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE, with %40 for an @ in the password"},
	{postgres.ErrNoDatabase, "create it with: createdb -O petstore -E UTF8 -T template0 NAME"},
	{postgres.ErrEncoding, "create one with: createdb -O petstore -E UTF8 -T template0 NAME"},
	{postgres.ErrDenied, "make the user the owner of the database"},
	{postgres.ErrTooManyConnections, "raise the server's max_connections or the limit of the user or database, or lower pool_max_conns"},
	{postgres.ErrMayNotMigrate, "with the owner of its tables as the user, run: petstore migrate STORE"},
	{postgres.ErrNewer, "run a newer petstore"},
	{postgres.ErrNotSynchronous, "or leave out --require-sync"},
}

// advise adds to an error what to do about it, if there is advice.
func advise(err error, addr string) error {
	for _, a := range advice {
		if errors.Is(err, a.about) {
			text := strings.NewReplacer("petstore ", service.Name+" ", "STORE", "--store "+address.Redact(addr)).Replace(a.text)
			return fmt.Errorf("%w; %s", err, text)
		}
	}
	return err
}
