package primary

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// checkInterval is the time between two checks of a host. A check costs the
// primary a question, and the host a statement.
const checkInterval = 500 * time.Millisecond

// maxStandbyWorkers is how many batches a standby runs for this process at once. A
// batch costs the standby two statements more than its reads, so 64 readers share a
// few batches.
const maxStandbyWorkers = 4

// standbys serve reads, as long as they are fit. Every host of the address is one
// of them, also the primary: hosts change their roles, and the checks find out.
type standbys struct {
	asker
	hosts []*standby
	turn  atomic.Uint32
	log   *slog.Logger

	mu    sync.Mutex
	count map[Reads]uint64
}

// standby is a host, and the pool of connections to it.
type standby struct {
	*batcher
	addr    string
	pool    *pgxpool.Pool
	fit     atomic.Bool
	waiting atomic.Int32 // reads that it has been given
	reached time.Time    // the newest position that a check has found it at
	lag     atomic.Int64 // of the last check, in nanoseconds
}

func newStandbys(primary *executor, log *slog.Logger) (*standbys, error) {
	s := &standbys{asker: asker{primary: primary}, log: log, count: map[Reads]uint64{}}
	for _, host := range primary.cluster.hosts {
		config := primary.cluster.config.Copy()
		config.ConnConfig = host.Copy()
		config.ConnConfig.ValidateConnect = validateDirect
		config.PrepareConn = nil
		config.MaxConns = maxStandbyWorkers + 1 // for checks
		config.MinConns, config.MinIdleConns = 0, 0
		// With one snapshot for all statements of a batch the reads would have that
		// of the first, from before the position.
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
		// A read that waits for a lock leaves its session behind no longer.
		config.ConnConfig.RuntimeParams["statement_timeout"] = strconv.Itoa(2 * int(standbyTimeout.Milliseconds()))
		pool, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			s.close()
			return nil, err
		}
		h := &standby{addr: net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port))), pool: pool, reached: time.Now()}
		h.batcher = newBatcher(maxStandbyWorkers, false, h.execute)
		s.hosts = append(s.hosts, h)
	}
	return s, nil
}

// read has a standby run a statement, and reports whether the result counts. It
// returns an error where ctx has ended.
func (s *standbys) read(ctx context.Context, st Statement) (bool, error) {
	h := s.choose()
	if h == nil {
		return s.atPrimary("no_standby"), nil
	}
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	c := newCall(st)
	var err error
	if c.since, err = s.ask(ctx); err == nil {
		err = h.attempt(ctx, c)
	}
	switch {
	case ctx.Err() != nil:
		return false, ErrGaveUp // h may run the statement yet
	case c.since.timeline == 0 || s.primary.cluster.timeline.isStale(server{timeline: c.since.timeline}):
		return s.atPrimary("no_position"), nil // a later connection may have met the successor of the server that told it
	case err != nil:
		s.note(h, err)
		return s.atPrimary(reason(err)), nil
	}
	s.counted(h.addr, "exact")
	return true, nil
}

// choose returns the fit standby with the fewest reads, nil where none is fit.
func (s *standbys) choose() (best *standby) {
	turn := int(s.turn.Add(1))
	for i := range s.hosts {
		h := s.hosts[(turn+i)%len(s.hosts)]
		if h.fit.Load() && (best == nil || h.waiting.Load() < best.waiting.Load()) {
			best = h
		}
	}
	return best
}

// atPrimary counts a read that the primary runs for that reason, and returns false.
func (s *standbys) atPrimary(reason string) bool {
	s.counted("primary", reason)
	return false
}

func (s *standbys) counted(server, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[Reads{server, reason}]++
}

// execute runs the reads as one batch at the newest of their positions, which the
// primary told after each of them began.
func (h *standby) execute(calls []*call) {
	newest := slices.MaxFunc(calls, func(a, b *call) int { return a.since.asked.Compare(b.since.asked) }).since
	err := errUnfit
	if h.fit.Load() {
		err = h.run(context.Background(), newest, calls)
	}
	for _, c := range calls {
		if err != nil {
			c.err = err
		}
		close(c.done)
	}
}

func (h *standby) run(ctx context.Context, p position, calls []*call) error {
	ctx, cancel := context.WithTimeout(ctx, standbyTimeout)
	defer cancel()
	c, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	return withPosition(ctx, c.Conn(), p, calls)
}

// watch checks the hosts until ctx ends, the first time before it returns.
func (s *standbys) watch(ctx context.Context, running *sync.WaitGroup) {
	var first sync.WaitGroup
	for _, h := range s.hosts {
		first.Add(1)
		running.Go(func() {
			s.check(ctx, h)
			first.Done()
			next := time.NewTicker(checkInterval)
			defer next.Stop()
			for ctx.Err() == nil {
				select {
				case <-next.C:
					s.check(ctx, h)
				case <-ctx.Done():
				}
			}
		})
	}
	first.Wait()
	if s.choose() == nil {
		s.log.Warn("no standby is fit to serve reads: the primary serves them all")
	}
}

// check finds out whether a host is fit. Without the position of the primary
// nothing is known.
func (s *standbys) check(ctx context.Context, h *standby) {
	p, err := s.ask(ctx)
	if err != nil {
		return
	}
	if err = h.run(ctx, p, nil); err == nil {
		h.reached = p.asked
	}
	h.lag.Store(int64(time.Since(h.reached)))
	if ctx.Err() == nil {
		s.note(h, err)
	}
}

// note notes whether a host is fit after it has run reads or a check.
func (s *standbys) note(h *standby, err error) {
	fit := err == nil
	switch reason(err) {
	case "newer_row", "conflict", "statement", "unfit":
		return // of these reads, not of the host
	}
	switch was := h.fit.Swap(fit); {
	case was == fit:
	case fit:
		s.log.Info("a standby serves reads", "server", h.addr)
	case s.choose() == nil:
		s.log.Warn("a standby serves no reads, and no other is fit: the primary serves them all", "server", h.addr, "reason", err)
	default:
		s.log.Warn("a standby serves no reads", "server", h.addr, "reason", err)
	}
}

func (s *standbys) close() {
	for _, h := range s.hosts {
		h.batcher.close()
		h.pool.Close()
	}
}

// errUnfit is the error of a read that waited for a standby as others failed. Without
// it each batch that waits behind a hang would take standbyTimeout too.
var errUnfit = errors.New("the standby has become unfit")

// reason is the name of an error in the metrics.
func reason(err error) string {
	pg, refused := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errNewer):
		return "newer_row"
	case errors.Is(err, errBehind):
		return "lag"
	case errors.Is(err, errNotInRecovery), errors.Is(err, errOtherTimeline):
		return "not_streaming"
	case errors.Is(err, errUnfit), errors.Is(err, errNoWorker):
		return "unfit"
	case refused && (pg.Code == "40001" || pg.Code == "40P01"):
		return "conflict"
	case refused && pg.SeverityUnlocalized == "ERROR":
		return "statement"
	case IsTimeout(err):
		return "hang"
	}
	return "connection"
}

// Reads names reads of one server, for metrics.
type Reads struct {
	Server string // host:port; "primary" for the primary
	Reason string // why the primary served them; "exact" for a standby
}

// Standby is the state of a host that may serve reads, for metrics.
type Standby struct {
	Fit bool          // whether it serves reads
	Lag time.Duration // how long it took to come to the primary's position; of an unfit host, since when it has not
}

// state returns the number of reads, and the hosts by their addresses.
func (s *standbys) state() (map[Reads]uint64, map[string]Standby) {
	hosts := map[string]Standby{}
	for _, h := range s.hosts {
		hosts[h.addr] = Standby{Fit: h.fit.Load(), Lag: time.Duration(h.lag.Load())}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.count), hosts
}
