// Package upkeep looks after a database file: it backs the file up, restores it and
// finds damage in it. It serves nobody.
package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	driver "modernc.org/sqlite"

	"example.com/petstore/internal/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/pets/wholefile"
)

// backupStep is how many pages are copied between two looks at the context: 4 MiB.
const backupStep = 1024

// Backup writes the database at path, as it is at one moment, to a file of its own:
// mode 0600, without a log beside it, checked before it has its name. It runs beside
// servers and comes to an end however much they write; their log grows meanwhile.
// replace allows it to take the place of a file. Backup calls progress with the part
// that is done, 0 to 1.
func Backup(ctx context.Context, path, target string, replace bool, progress func(part float64)) (Report, error) {
	file, err := dbfile.Find(path)
	if err != nil {
		return Report{}, err
	}
	if err := checkBackupTarget(file, target, replace); err != nil {
		return Report{}, err
	}
	address, err := dbfile.ReadingAddress(path, file)
	if err != nil {
		return Report{}, err
	}
	defer dbfile.TryShare(file).Close()
	temporary, err := wholefile.Temporary(target)
	if err != nil {
		return Report{}, fmt.Errorf("cannot write %s: %w", target, err)
	}
	defer os.Remove(temporary.Name()) // once it has its name, there is nothing to remove
	if err := temporary.Close(); err != nil {
		return Report{}, err
	}
	if err := copyDatabase(ctx, path, address, temporary.Name(), progress); err != nil {
		return Report{}, err
	}
	report, err := checkFile(ctx, temporary.Name())
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return report, fmt.Errorf("the copy of %s is not sound, so it was not kept: %w", path, err)
	}
	if err := checkBackupTarget(file, target, replace); err != nil { // another program may have written it meanwhile
		return report, err
	}
	if err := wholefile.Rename(temporary.Name(), target); err != nil {
		return report, fmt.Errorf("cannot write %s: %w", target, err)
	}
	return report, noteBackup(ctx, file)
}

// checkBackupTarget refuses the database itself, and a file whose log would
// then belong to another.
func checkBackupTarget(file, target string, replace bool) error {
	if err := wholefile.CheckTarget(target, replace); err != nil {
		return err
	}
	if now, err := os.Stat(target); err == nil {
		if source, err := os.Stat(file); err == nil && os.SameFile(source, now) {
			return fmt.Errorf("%s is the database itself; choose another name", target)
		}
	}
	if log, err := os.Stat(target + dbfile.LogSuffix); err == nil && log.Size() > 0 {
		return fmt.Errorf("%s belongs to another database and would spoil the backup; choose another name", target+dbfile.LogSuffix)
	}
	return nil
}

// copyDatabase copies the database at address, as it is now, into an empty file.
func copyDatabase(ctx context.Context, path, address, target string, progress func(float64)) (err error) {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := dbfile.CheckOwner(ctx, db); err != nil {
		return dbfile.Explain(path, err)
	}
	if err := copyPages(ctx, db, target, progress); err != nil {
		return fmt.Errorf("cannot back %s up: %w", path, err)
	}
	return nil
}

// copyPages begins the copy within a transaction that reads: without one, it would
// begin anew whenever another process commits.
func copyPages(ctx context.Context, db *sql.DB, target string, progress func(float64)) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, query := range []string{"BEGIN DEFERRED", "SELECT count(*) FROM sqlite_schema"} {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	defer func() {
		_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, rollback)
	}()
	// Whether the copy is on disk is seen to once it is whole.
	to := dbfile.Address(target, []dbfile.Pragma{{Name: "journal_mode", Value: "OFF"}, {Name: "synchronous", Value: "OFF"}})
	return conn.Raw(func(c any) error {
		copying, err := c.(interface {
			NewBackup(string) (*driver.Backup, error)
		}).NewBackup(to)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = copying.Step(backupStep); err == nil && more {
				progress(1 - float64(copying.Remaining())/float64(copying.PageCount()))
				err = ctx.Err()
			}
		}
		return errors.Join(err, copying.Finish())
	})
}

// checkFile folds a log that may lie beside the file into it, has it be a file
// that needs none, and looks at all of it.
func checkFile(ctx context.Context, file string) (report Report, err error) {
	db, err := sql.Open("sqlite", dbfile.Address(file, []dbfile.Pragma{{Name: "journal_mode", Value: "DELETE"}}))
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return inspect(ctx, db)
}

// noteBackup keeps the time of a backup in the database, where servers read it
// for their figures. A database that may not be written to keeps none.
func noteBackup(ctx context.Context, file string) (err error) {
	if dbfile.CheckWritable(file) != nil {
		return nil
	}
	db, err := sql.Open("sqlite", dbfile.Address(file, dbfile.WriterPragmas))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	version, err := dbfile.Version(ctx, db)
	if err != nil || version < backupsVersion {
		return err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix()); err != nil {
		return fmt.Errorf("the backup is whole, but its time could not be noted in the database: %w", err)
	}
	return nil
}

// backupsVersion is the migration that makes the table of backups.
const backupsVersion = 4
