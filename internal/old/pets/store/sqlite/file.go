package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// Options say how a database is opened. The zero value makes one where there
// is none.
type Options struct {
	MustExist bool                 // refuse a database that is not there
	ReadOnly  bool                 // change nothing and make nothing
	Made      func(path string)    // told of a store that was made; may be nil
	Notify    func(message string) // told faults that the operator should mend; may be nil
}

// prepareFile makes the file where there is none and o allows it, and returns its
// name without symbolic links.
func prepareFile(path string, o Options) (file string, made bool, err error) {
	if err := dbfile.CheckName(path); err != nil {
		return "", false, err
	}
	if !o.MustExist && !o.ReadOnly {
		if made, err = dbfile.Make(path); err != nil {
			return "", made, err
		}
	}
	info, err := os.Stat(path)
	if o.MustExist && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		return "", false, fmt.Errorf("there is no database at %s; mount its volume, or make one with: petstore keys create NAME --store sqlite:%s", dbfile.Absolute(path), path)
	}
	if file, err = dbfile.Find(path); err != nil {
		return "", made, err
	}
	if o.Notify != nil && !o.ReadOnly && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		o.Notify(fmt.Sprintf("other users may open %s (mode %04o), which holds the hashes of keys; close it with: chmod 600 %s", dbfile.Absolute(path), info.Mode().Perm(), path))
	}
	return file, made, nil
}

// openedFile is a file as it was when the store was opened.
type openedFile struct {
	name string
	info fs.FileInfo
}

// openedFiles are the files that hold everything acknowledged.
type openedFiles []openedFile

func lookAt(names ...string) (openedFiles, error) {
	var files openedFiles
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, openedFile{name, info})
	}
	return files, nil
}

// replacedError says which file is no longer the one that was opened.
type replacedError struct{ message string }

func (e *replacedError) Error() string { return e.message }

// stillThere returns an error unless the names lead to the files that were
// opened. SQLite itself goes on writing to a file that was removed. It looks at
// names only: opening and closing a file would give up SQLite's locks on it.
func (files openedFiles) stillThere() error {
	for _, f := range files {
		info, err := os.Stat(f.name)
		if err == nil && os.SameFile(f.info, info) {
			continue
		}
		what := "was removed or replaced while it was in use"
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			what = fmt.Sprintf("can no longer be looked at (%v)", err)
		}
		return &replacedError{fmt.Sprintf("%s %s, so nothing more is acknowledged; put the right file in place and start again", dbfile.Absolute(f.name), what)}
	}
	return nil
}
