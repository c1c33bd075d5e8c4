// Package postgres connects to a PostgreSQL database, which any number of processes may use
// at once. It knows no tables: its caller gives it a Schema.
//
// # What is promised
//
// A write that DB.Write or DB.WriteOnce has returned from without an error is committed, and
// is on a synchronous standby too if the server waits for one. One that was refused with
// fault.Unavailable was not executed and never will be. One that failed with fault.Internal
// may have been. Reads and writes that may be repeated are tried again until they succeed or
// their time is over, others only if they surely were not executed. No call takes longer than
// 10 s (callTimeout). All go to the primary: a standby may lag behind.
//
// # What each failure does
//
// There is no connection, since the server is down, starting, unreachable or full. Nothing
// was executed. DB.run tries again for 3 s (outageWait), then the answer is Unavailable. pgx
// goes from host to host of the address, each within connectTimeout (TestOutage).
//
// The connection is lost after the statement was sent: it broke, or the deadline passed. The
// statement may have been executed and may still be. effectOf says so, and WriteOnce fails
// with Internal at once. Write goes on until an attempt succeeds, since only that settles the
// outcome (TestEffectOf, TestFaultUnderLoad).
//
// The connection is lost within a transaction, before its COMMIT was sent. The server rolls
// back; see NotCommitted.
//
// The server answers with an ERROR. It has rolled back. Another attempt may succeed after
// some, such as a deadlock; the others are answered with Internal, since somebody must mend
// their cause (TestEffectOf).
//
// The server answers with a FATAL or PANIC, such as "terminating connection due to
// administrator command". It may come after the commit, so the outcome is unknown.
//
// A wait for a standby is canceled, by an operator or a timeout. The server says that the
// commit succeeded, and only a WARNING that it may be nowhere else. keepWarning notes it, and
// DB.attempt makes it an unknown outcome. A repeated write must itself write to the log, even
// if it finds its rows there: only then its own commit waits for a standby (TestSync). A
// server that does not send warnings is refused with RequireSync (TestDurability).
//
// The primary dies and a standby is promoted. Connections break as above, and new ones go to
// the new primary: validate refuses a standby, on each new connection. Writes resume within
// 1 s of the promotion (TestFaultUnderLoad, kill).
//
// The primary hangs, or the network drops its packets. Each call in flight ends with its own
// deadline, and pgx then waits up to 15 s to close its connection, whose place in the pool is
// taken meanwhile. Writes resume within 30 s of the promotion (TestFaultUnderLoad, hang).
//
// A primary becomes a standby, or read-only, while connections to it are open. Its answer is
// 25006, nothing was executed, and DB.attempt closes the connection, so that the next one
// looks for the primary (TestFaultUnderLoad, demotion).
//
// The server, a user's settings or the tables lose durability, or hide rows. session.check
// refuses by name, at the start and for each new connection: for writes synchronous_commit,
// fsync or full_page_writes that are off, for all UNLOGGED tables and row security, which
// would hide rows without an error. Open connections keep their settings; the metric
// postgres_sync tells whether writes wait for a standby now (TestCheck, TestDurability).
//
// All connections for writes wait for a standby. Reads have a pool of their own, and go on
// (TestSync). If one pool holds all connections that a user may have, the other one takes
// them back (TestSettings).
//
// The server is away for long. DB.Ping, for readiness probes, bridges the first 30 s: all
// replicas share the server, so an orchestrator could only take all of them out
// (TestPingBridges).
//
// A password, a certificate or a service changes. Each new connection is made by what the
// files say then; see newDB (TestPassword).
//
// The process stops while the server hangs. DB.Close gives up after callTimeout.
//
// # The schema
//
// Tables are in a schema of the program's own, which every statement names. Migrations run at
// the start of a process, one process at a time, under an advisory lock that belongs to a
// transaction: through PgBouncer, a session may be another client's in the next one
// (TestMigrateConcurrently). Whoever waits for the lock looks at the version first, and says
// who holds it: the session of a dead process may hold it for hours (TestMigrateLocked).
//
// In statements, literals that are no text are cast. For an unknown one, PostgreSQL prefers
// a function that takes text, which another user may have created in a schema of the search
// path.
package postgres
