// Package sqlite keeps a database in a file, which several processes on one machine may
// have open at once. It knows no tables: its caller gives it a Schema. Beside the file are
// SQLite's write-ahead log (-wal) and its index (-shm), and this package's lock (-lock).
//
// # What is promised
//
// A write that DB.Write has returned from without an error is on disk, whole, and stays
// there. One that was refused with fault.Unavailable is not there and never will be. One
// that failed with fault.Internal may be there. Readers see only committed writes.
//
// SQLite keeps these promises with synchronous=FULL, which syncs the log at each commit.
// DB.runBatch therefore commits all waiting writes together. Transactions have no context:
// a caller that gives up must not undo the writes of others.
//
// # What each failure does
//
// Each paragraph names the functions that answer a failure, and the tests that show it. Some
// tests need strace, or root, and have the build tag faults.
//
// The process is killed (TestKill). The log stays. The next process to open the database
// alone writes it anew, so that it is surely on disk, and copies it into the file; see
// DB.recoverLog (TestLogWrittenAnew).
//
// The power is cut. What was synced stays, and that is each acknowledged commit, the folder
// of a new file, and a copy before it has its name; see syncDir and writeCopy
// (TestFolderNotSynced, TestSynced).
//
// A write fails, because the disk is full, a quota is used up or the disk is broken: SQLite
// cannot tell. Only the last write of a transaction makes its part of the log valid, so the
// transaction is not there; see classify (TestRefusedIsNotThere). The answer is Unavailable,
// the metric sqlite_disk_full is 1, and writing resumes when the disk takes it (TestFull).
//
// An fsync of the log fails. The kernel may drop the pages then and report the next fsync as
// a success, so the process must end: faults.fail stops all writing, and DB.Failed delivers
// the error. DB.Close leaves the log to the next process, since SQLite would copy it
// (TestFaults, TestFailure).
//
// The log cannot be copied into the file, by a failed write or fsync of the file. SQLite's
// own checkpoints ignore that, so they are off, and DB.checkpoint makes them. It ends the
// process like a failed fsync, unless the disk is full: then the log grows, and a later
// checkpoint copies it (TestFaults, TestLogNotCopied, TestLogLength).
//
// The file, its log, index or lock is removed or replaced while it is open. SQLite would go
// on writing to the old one. faults.check compares the files before a write begins, after
// its commit and in DB.Ping, and ends the process. If the file itself is still there, DB.Close
// saves what the log held; otherwise it leaves both alone (TestReplacedFile).
//
// A page is damaged. Nothing that was acknowledged is lost by reading on, so the process
// goes on and reads sound pages; faults.record stops all writing, which could spread the
// damage. The metric sqlite_damaged is 1 (TestDamage). Verify says what is damaged.
//
// The database cannot be opened safely: it has hard links, or is a mount of its own, since
// its log would then depend on the name; it is missing, empty or a backup while the log of
// another file is beside it; it is another program's, or of a newer version; SQLite did not
// take a setting. Open, and every command, refuses it by name and changes nothing; see
// resolve, checkFile, isMount, Schema.version and Schema.prepare (TestOpenRejects,
// TestPlantedLinks, TestMount, TestStart).
//
// Another program, such as a shell, has the database open. Writes wait for it up to 5 s
// and are then refused. A long transaction of a reader keeps the log from starting anew, so
// it grows (TestLogLength). Recovery and Restore hold SQLite's own lock while they touch the
// file or its log, since another program does not know the lock file (TestOtherProgram,
// TestRestoreRejects).
//
// # What only reads
//
// OpenReader, Verify and the source of a backup open the file with mode=ro. They change
// neither the file nor its log, whether it is in use, at rest, left by a kill or a backup
// (TestReading). SQLite has its price for that:
//   - It leaves an empty log and index beside a database at rest. Those of another account
//     would be closed to the owner, so checkReadable refuses any other, unless the file is a
//     backup, whose header says that it has no log.
//   - Where it cannot make these files, it cannot read a database that is no backup.
//   - It checks no CHECK constraints. Verify thus finds damage, but no wrong values. The
//     copies that Backup and Restore make are checked with a connection that may write.
//
// # Copies
//
// Backup and Restore write a copy beside its target by VACUUM INTO, verify it, sync it,
// rename it and sync the folder. Whenever they are killed, the target is the old file or the
// new one, whole (TestRestoreKilled, TestRestoreFails). Restore folds the old log into the
// old file first; a log that belongs to no readable file is removed last, and only with
// force (TestRestoreWithLog).
//
// Identifiers of AUTOINCREMENT are not given again, also after a restore: it continues above
// those of the database that it replaces, or far above the backup's if it cannot know them;
// see Schema.raiseIDs (TestRestoreIDs).
package sqlite
