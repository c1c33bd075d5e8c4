// Package disktest is a disk that fails, for tests: it takes the place of SQLite's
// own way to the files of a database in this process (https://www.sqlite.org/vfs.html).
package disktest

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Op is what SQLite does to a file.
type Op string

// The operations that can fail.
const (
	Write    Op = "write"
	Sync     Op = "fsync"
	Truncate Op = "truncate"
	Delete   Op = "delete"
)

// Call is one operation.
type Call struct {
	Op  Op
	Log bool // on the write-ahead log, else on the database itself
}

// Fault is what becomes of a call.
type Fault int

// Nothing goes wrong; or the call fails; or the disk is full; or the call claims to
// have been done. Lost is for Sync alone: it fails, and the file is again as it was
// at the last Sync, as where the kernel drops pages that it could not write.
const (
	None Fault = iota
	Fail
	Full
	Ignore
	Lost
)

var disk struct {
	mu    sync.Mutex
	judge func(Call) Fault
	vfs   *lib.Tsqlite3_vfs // SQLite's own
	open  map[uintptr]*file
}

// file is an open file of SQLite.
type file struct {
	methods  *lib.Tsqlite3_io_methods // SQLite's own
	name     string
	unsynced *[]page // of the same file, however often it is open
}

// page is a part of a file as it was before it was written.
type page struct {
	at   int64
	data []byte
}

var unsynced = map[string]*[]page{}

// Mount has judge decide on every call of this process from now on. It is called
// once, before any database is open.
func Mount(judge func(Call) Fault) error {
	tls := libc.NewTLS()
	own := lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString("disktest")
	if err != nil {
		return err
	}
	disk.judge, disk.vfs, disk.open = judge, at[lib.Tsqlite3_vfs](own), map[uintptr]*file{}
	mounted := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	vfs := at[lib.Tsqlite3_vfs](mounted)
	*vfs = *disk.vfs
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FxOpen, vfs.FxDelete = pointer(open), pointer(remove)
	if rc := lib.Xsqlite3_vfs_register(tls, mounted, 1); rc != lib.SQLITE_OK {
		return fmt.Errorf("mounting the disk: got result %d, want 0", rc)
	}
	return nil
}

func open(tls *libc.TLS, vfs, name, opened uintptr, flags int32, out uintptr) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](disk.vfs.FxOpen)(tls, vfs, name, opened, flags, out)
	if rc != lib.SQLITE_OK || flags&(lib.SQLITE_OPEN_MAIN_DB|lib.SQLITE_OPEN_WAL) == 0 {
		return rc
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	f := &file{methods: at[lib.Tsqlite3_io_methods](at[lib.Tsqlite3_file](opened).FpMethods), name: libc.GoString(name)}
	if unsynced[f.name] == nil {
		unsynced[f.name] = &[]page{}
	}
	f.unsynced = unsynced[f.name]
	disk.open[opened] = f
	methods := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	m := at[lib.Tsqlite3_io_methods](methods)
	*m = *f.methods
	m.FxWrite, m.FxSync, m.FxTruncate, m.FxClose = pointer(write), pointer(fsync), pointer(truncate), pointer(closeFile)
	at[lib.Tsqlite3_file](opened).FpMethods = methods
	return rc
}

// decide returns the open file and the fault of a call on it.
func decide(opened uintptr, op Op) (*file, Fault) {
	disk.mu.Lock()
	defer disk.mu.Unlock()
	f := disk.open[opened]
	return f, disk.judge(Call{op, isLog(f.name)})
}

func isLog(name string) bool { return strings.HasSuffix(name, "-wal") }

func write(tls *libc.TLS, opened, data uintptr, n int32, offset int64) int32 {
	f, fault := decide(opened, Write)
	switch fault {
	case None:
		f.keep(tls, opened, n, offset)
		return f.write(tls, opened, data, n, offset)
	case Ignore:
		return lib.SQLITE_OK
	case Full:
		return lib.SQLITE_FULL
	default:
		return lib.SQLITE_IOERR_WRITE
	}
}

// keep remembers a part of the file before it is written; past the end it is zero.
func (f *file) keep(tls *libc.TLS, opened uintptr, n int32, offset int64) {
	buffer := libc.Xmalloc(tls, libc.Tsize_t(n))
	defer libc.Xfree(tls, buffer)
	function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.methods.FxRead)(tls, opened, buffer, n, offset)
	data := append([]byte(nil), unsafe.Slice(at[byte](buffer), n)...)
	disk.mu.Lock()
	defer disk.mu.Unlock()
	*f.unsynced = append(*f.unsynced, page{offset, data})
}

func (f *file) write(tls *libc.TLS, opened, data uintptr, n int32, offset int64) int32 {
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.methods.FxWrite)(tls, opened, data, n, offset)
}

func fsync(tls *libc.TLS, opened uintptr, flags int32) int32 {
	f, fault := decide(opened, Sync)
	if fault == Lost {
		f.lose(tls, opened)
	}
	if fault != None && fault != Ignore {
		return lib.SQLITE_IOERR_FSYNC
	}
	disk.mu.Lock()
	*f.unsynced = nil
	disk.mu.Unlock()
	return function[func(*libc.TLS, uintptr, int32) int32](f.methods.FxSync)(tls, opened, flags)
}

// lose undoes all writes since the last Sync, the last first.
func (f *file) lose(tls *libc.TLS, opened uintptr) {
	disk.mu.Lock()
	pages := *f.unsynced
	*f.unsynced = nil
	disk.mu.Unlock()
	for i := len(pages) - 1; i >= 0; i-- {
		n := len(pages[i].data)
		buffer := libc.Xmalloc(tls, libc.Tsize_t(n))
		copy(unsafe.Slice(at[byte](buffer), n), pages[i].data)
		f.write(tls, opened, buffer, int32(n), pages[i].at)
		libc.Xfree(tls, buffer)
	}
}

func truncate(tls *libc.TLS, opened uintptr, size int64) int32 {
	f, fault := decide(opened, Truncate)
	if fault != None {
		return lib.SQLITE_IOERR_TRUNCATE
	}
	return function[func(*libc.TLS, uintptr, int64) int32](f.methods.FxTruncate)(tls, opened, size)
}

func closeFile(tls *libc.TLS, opened uintptr) int32 {
	disk.mu.Lock()
	f := disk.open[opened]
	delete(disk.open, opened)
	disk.mu.Unlock()
	return function[func(*libc.TLS, uintptr) int32](f.methods.FxClose)(tls, opened)
}

func remove(tls *libc.TLS, vfs, name uintptr, syncFolder int32) int32 {
	disk.mu.Lock()
	fault := disk.judge(Call{Delete, isLog(libc.GoString(name))})
	disk.mu.Unlock()
	if fault != None {
		return lib.SQLITE_IOERR_DELETE
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](disk.vfs.FxDelete)(tls, vfs, name, syncFolder)
}

// at returns what SQLite has at an address. Its memory is not Go's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// pointer returns the address by which SQLite, translated to Go, calls f, a function
// at the top level of a package; function is the way back.
func pointer(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

func function[F any](address uintptr) F {
	return *(*F)(unsafe.Pointer(&struct{ uintptr }{address}))
}
