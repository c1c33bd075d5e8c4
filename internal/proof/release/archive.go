package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entries calls add for every file below dir, in the order of their names, with the
// mode that it has in an archive: no machine's umask is in it.
func entries(dir string, add func(name string, mode fs.FileMode, size int64, file io.Reader) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		return add(name, archiveMode(name), info.Size(), file)
	})
}

// archiveMode returns 0755 for programs and scripts, and 0644 for the rest.
func archiveMode(name string) fs.FileMode {
	if base := path.Base(name); base == "petstore" || base == "petstore.exe" || strings.HasSuffix(base, ".sh") {
		return 0o755
	}
	return 0o644
}

// writeTarGz writes the files below dir to an archive, below a folder top in it.
func writeTarGz(archive, dir, top string, modified time.Time) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	compressed, _ := gzip.NewWriterLevel(file, gzip.BestCompression) // a level that there is
	w := tar.NewWriter(compressed)
	defer func() { err = errors.Join(err, w.Close(), compressed.Close(), file.Close()) }()
	return entries(dir, func(name string, mode fs.FileMode, size int64, file io.Reader) error {
		header := &tar.Header{Name: path.Join(top, name), Mode: int64(mode), Size: size, ModTime: modified, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(w, file)
		return err
	})
}

// writeZip is writeTarGz for Windows.
func writeZip(archive, dir, top string, modified time.Time) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	w := zip.NewWriter(file)
	defer func() { err = errors.Join(err, w.Close(), file.Close()) }()
	return entries(dir, func(name string, mode fs.FileMode, _ int64, file io.Reader) error {
		header := &zip.FileHeader{Name: path.Join(top, name), Method: zip.Deflate, Modified: modified}
		header.SetMode(mode)
		to, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, file)
		return err
	})
}

// copyTree copies a file, or a folder with all below it, with modes that are the
// same on every machine.
func copyTree(from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer root.Close()
	top := filepath.Base(from)
	return fs.WalkDir(root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(name, top)))
		if d.IsDir() {
			return errors.Join(os.MkdirAll(target, 0o755), os.Chmod(target, 0o755))
		}
		data, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(target, data, 0o644), os.Chmod(target, 0o644))
	})
}
