package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/server"
	"example.com/petstore/internal/store/address"
)

func addStore(env *environment, cmd *cobra.Command) *cobra.Command {
	_ = env.store.Set(address.Kinds[0].Default) // it is valid
	cmd.Flags().Var(&env.store, "store", "the address of the store:\n"+address.Forms())
	return cmd
}

// onStore completes a command on a store, and limits how long it runs after a signal.
func onStore(env *environment, cmd *cobra.Command) *cobra.Command {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if env.store.Volatile {
			return misuse("--store: the %s store exists only inside a server, which gets its keys from %s",
				env.store.Name, keysVariable)
		}
		context.AfterFunc(cmd.Context(), func() {
			cause, _ := errors.AsType[server.Interrupted](context.Cause(cmd.Context()))
			env.exitAfter(stopTime, 128+int(cause.Signal))
		})
		warnOfVariables(env, cmd.Root())
		return refuseRoot(env, env.store.Path())
	}
	return addStore(env, cmd)
}

const restoreAdvice = "move the old store away with its servers stopped, mkdir old && mv FILES old/, " +
	"and restore a backup with: petstore restore BACKUP STORE"

// advice is for errors without an obvious fix. STORE stands for --store with its address, FILES for its files.
var advice = map[error]string{
	db.ErrNone:          "check the address and that its volume is mounted, or make one with: petstore migrate STORE",
	db.ErrOutdated:      "stop its servers, then run: petstore migrate STORE",
	db.ErrUnreachable:   "start PostgreSQL, or name its host, user and database in --store or in PGHOST, PGUSER and PGDATABASE",
	db.ErrNoDatabase:    "create it with: createdb -O petstore -E UTF8 -T template0 NAME",
	db.ErrMayNotMigrate: "as the owner of its tables, run: petstore migrate STORE",
	db.ErrExists:        "replace it with --force",
	db.ErrInTheWay:      restoreAdvice,
	db.ErrDamaged:       restoreAdvice,
	db.ErrAltered:       "make the schema as in a new store, or " + restoreAdvice,
	db.ErrLoneLog:       "put the database back beside it, or " + restoreAdvice,
}

// adviceOn returns the advice about an error of the store at addr, or "".
func adviceOn(err error, addr *address.Address) string {
	for about, text := range advice {
		if errors.Is(err, about) {
			path := addr.Path()
			return "; " + strings.NewReplacer("STORE", "--store "+addr.String(),
				"FILES", path+" "+path+"-wal "+path+"-shm").Replace(text)
		}
	}
	return ""
}

func migrateCommand(env *environment) *cobra.Command {
	return onStore(env, &cobra.Command{
		Use:   "migrate",
		Short: "Make a store, or bring its schema up to date",
		Long: `migrate makes the store if there is none, and brings its schema up to date, as
serve does. For servers whose PostgreSQL user may not change the schema, run it as
the owner of the tables before they start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := env.store.Migrate(cmd.Context(), env.store.Text, env.logger)
			if err != nil {
				return fmt.Errorf("%w; each migration was applied whole or not at all", err)
			}
			_, err = fmt.Fprintf(env.stdout, "the schema is at version %d (before: %d)\n", to, from)
			return err
		},
	})
}

// refuseRoot returns an error if the user is root and another user may change a directory or a
// symbolic link on the way to a file. It follows links as Linux does, which are at most 40.
func refuseRoot(env *environment, file string) error {
	if !env.root || file == "" {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	checked, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0 && links <= 40; {
		next := filepath.Join(checked, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(next)
		if err != nil || info.Mode().IsRegular() {
			return nil
		}
		if err := checkOwner(next, info); err != nil {
			return err
		}
		if info.Mode().Type() != os.ModeSymlink {
			checked = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			checked = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
		links++
	}
	return nil
}

// checkOwner returns an error if another user than root may change the directory or symbolic
// link at path. A sticky directory, such as /tmp, is safe: users change only their own files in it.
func checkOwner(path string, info os.FileInfo) error {
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		name := fmt.Sprint(uid)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return fmt.Errorf("%s belongs to the user %s: run this as that user, not as root, with petstore-run or "+
			"runuser -u %s --", path, name, name)
	}
	if info.IsDir() && info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("%s may be changed by others than root: chmod go-w %s, or use another folder", path, path)
	}
	return nil
}
