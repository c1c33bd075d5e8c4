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

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/old/pets/wholefile"
)

// Backup writes the database at path, as it is at one moment, to a file of its own.
// The file has mode 0600 and no log beside it, and is checked before it has its name.
// It runs beside servers and comes to an end however much they write; their log grows
// meanwhile. replace allows it to take the place of a file.
func Backup(ctx context.Context, path, target string, replace bool) (report Report, err error) {
	file, err := dbfile.Find(path)
	if err != nil {
		return Report{}, err
	}
	if err := checkBackupTarget(file, target); err != nil {
		return Report{}, err
	}
	defer dbfile.TryShare(file).Close()
	copied, err := wholefile.Create(target, replace)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, copied.Discard()) }()
	if err := copied.Close(); err != nil { // SQLite opens it
		return Report{}, err
	}
	if err := dbfile.Copy(ctx, path, file, copied.Name()); err != nil {
		return Report{}, err
	}
	if report, err = checkFile(ctx, copied.Name()); err == nil {
		err = report.Err()
	}
	if err != nil {
		return report, fmt.Errorf("the copy of %s is not sound, so it was not kept: %w", path, err)
	}
	if err := checkBackupTarget(file, target); err != nil { // another program may have come meanwhile
		return report, err
	}
	if err := copied.Commit(); err != nil {
		return report, err
	}
	return report, noteBackup(ctx, file)
}

// checkBackupTarget refuses the database itself, and a file whose log would
// then belong to another.
func checkBackupTarget(file, target string) error {
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

// checkFile folds a log that may lie beside the file into it, has it be a file
// that needs none, and looks at all of it.
func checkFile(ctx context.Context, file string) (Report, error) {
	return inspect(ctx, dbfile.Address(file, []dbfile.Pragma{{Name: "journal_mode", Value: "DELETE"}}))
}

// noteBackup keeps the time of a backup in the database, where servers read it
// for their figures. A database that may not be written to keeps no time. A signal comes
// too late: the backup is there.
func noteBackup(ctx context.Context, file string) error {
	if dbfile.CheckWritable(file) != nil {
		return nil
	}
	err := dbfile.With(dbfile.Address(file, dbfile.WriterPragmas), func(db *sql.DB) error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix())
		return err
	})
	if err != nil {
		return fmt.Errorf("the backup is whole, but its time could not be noted in the database: %w", err)
	}
	return nil
}
