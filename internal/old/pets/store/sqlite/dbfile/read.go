package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"example.com/petstore/internal/old/pets/store/schema"
	"example.com/petstore/internal/old/reason"
)

// Reading is a database that is only read: the file itself or, where its schema is
// older than the program's, a copy that was brought up to date. The file stays as it
// is.
type Reading struct {
	Address string // for the driver
	lock    *flock.Flock
	folder  string // of the copy; "" where there is none
}

// Read makes the database ready to be read until Close; path is its name for messages.
// A copy is in the folder for temporary files (TMPDIR), for this user alone.
func Read(ctx context.Context, path, file string) (*Reading, error) {
	s, err := schema.New(migrations)
	if err != nil {
		return nil, err
	}
	return readAs(ctx, path, file, s)
}

func readAs(ctx context.Context, path, file string, s schema.Schema) (*Reading, error) {
	address, err := ReadingAddress(path, file)
	if err != nil {
		return nil, err
	}
	r := &Reading{Address: address, lock: TryShare(file)}
	var version int64
	err = With(address, func(db *sql.DB) (err error) {
		if err = CheckOwner(ctx, db); err == nil {
			version, err = s.Version(ctx, db, hasTable)
		}
		return err
	})
	switch {
	case err != nil:
		err = Explain(path, err)
	case version == 0:
		err = fmt.Errorf("%s has no schema yet; start petstore serve on it once", path)
	case version < s.Latest:
		err = r.copy(ctx, path, file, s)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// copy has r lead to a copy of the file with the latest schema.
func (r *Reading) copy(ctx context.Context, path, file string, s schema.Schema) (err error) {
	if r.folder, err = os.MkdirTemp("", "petstore-"); err != nil {
		return fmt.Errorf("%s has an older schema, and no copy of it can be made: %w", path, reason.Of(err))
	}
	copied := filepath.Join(r.folder, "copy.db")
	if err = Copy(ctx, path, file, copied); err == nil {
		if err = migrateTo(ctx, copied, s); err == nil {
			r.Address, err = ReadingAddress(path, copied)
		}
	}
	if err != nil {
		return fmt.Errorf("%s has an older schema, and a copy in %s could not be brought up to date (TMPDIR names another folder): %w", path, filepath.Dir(r.folder), err)
	}
	return nil
}

// Close removes the copy.
func (r *Reading) Close() error {
	var err error
	if r.folder != "" {
		err = os.RemoveAll(r.folder)
	}
	return errors.Join(err, r.lock.Close())
}

// Copy copies the database, as it is now, to a file that is empty or not there; path
// is its name for messages. VACUUM INTO is one transaction that reads: it sees no later
// commit, and no commit makes it begin anew. It fails at a page whose form is damaged.
func Copy(ctx context.Context, path, file, target string) error {
	address, err := ReadingAddress(path, file)
	if err != nil {
		return err
	}
	return With(address, func(db *sql.DB) error {
		if err := CheckOwner(ctx, db); err != nil {
			return Explain(path, err)
		}
		_, err := db.ExecContext(ctx, "PRAGMA query_only = 0") // it would forbid writing the copy
		if err == nil {
			_, err = db.ExecContext(ctx, "VACUUM INTO ?", Address(target, nil))
		}
		if err != nil {
			return fmt.Errorf("cannot copy %s: %w", path, err)
		}
		return nil
	})
}

// ReadingAddress returns the driver's address of a file that is only read; path is
// its name for messages. Where this user may write to the file, the connections only
// promise to write nothing. SQLite needs its other files to read beside a server, and
// removes them in the end. Else, as on a read-only file system, there can be no
// server and no log beside the file.
func ReadingAddress(path, file string) (string, error) {
	if err := CheckFailed(file); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	if CheckWritable(file) == nil {
		if err := CheckIndex(context.Background(), file); err != nil {
			return "", fmt.Errorf("cannot read %s: %w", path, err)
		}
		return Address(file, ReaderPragmas) + "&mode=rw", nil
	}
	if err := checkStill(file); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return Address(file, ReaderPragmas) + "&mode=ro&immutable=1", nil
}

// checkStill returns an error where the file alone is not all of the database,
// or may change while it is read.
func checkStill(file string) error {
	if info, err := os.Stat(file + LogSuffix); err == nil && info.Size() > 0 {
		return fmt.Errorf("its newest part is in %s, and neither may be written by this user; copy both into a folder of your own and read the copy", file+LogSuffix)
	}
	if used, err := InUse(file); err != nil || used {
		return errors.Join(errors.New("a server holds it, and this user may not write to it; run this as the server's user"), err)
	}
	return nil
}
