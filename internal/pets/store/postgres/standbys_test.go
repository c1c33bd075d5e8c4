//go:build postgres

package postgres_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/pets/store/storetest"
)

// readers is a primary with two synchronous standbys, and stores as of three
// replicas. Two read standbys, and the third the primary: it tells at once where a
// standby shows more or less than the primary.
type readers struct {
	primary, one, two *pgtest.Server
	stores            [3]*postgres.Store
}

// bothStandbys has commits wait for both.
const bothStandbys = "FIRST 2 (one, two)"

func startReaders(t *testing.T) *readers {
	t.Helper()
	r := &readers{primary: pgtest.Start(t)}
	r.one, r.two = r.primary.Standby(t, "one"), r.primary.Standby(t, "two")
	r.primary.Configure(t, map[string]string{"synchronous_standby_names": bothStandbys})
	pgtest.Eventually(t, 20*time.Second, "both standbys becoming synchronous", func() bool {
		return pgtest.Query[int](t, r.primary.Address("postgres"), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 2
	})
	r.open(t, "")
	return r
}

// open opens the stores by an address with these parameters, and waits until both
// standbys serve reads.
func (r *readers) open(t *testing.T, parameters string) {
	t.Helper()
	for i := range r.stores {
		r.stores[i] = open(t, pgtest.Addresses("postgres", r.primary, r.one, r.two)+parameters)
		if i < 2 {
			readStandbys(t, r.stores[i])
		}
	}
	r.wantServing(t, r.one, r.two)
}

func readStandbys(t *testing.T, s *postgres.Store) {
	t.Helper()
	if err := s.ReadStandbys(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
		t.Fatalf("reading standbys: got error %v, want none", err)
	}
}

// served returns how many reads that server has served, for that reason.
func (r *readers) served(t *testing.T, server, reason string) (n uint64) {
	for _, s := range r.stores[:2] {
		n += s.Stats(t.Context()).Cluster.Reads[pets.ReadBy{Server: server, Reason: reason}]
	}
	return n
}

// wantServing waits until each of these standbys serves another read.
func (r *readers) wantServing(t *testing.T, standbys ...*pgtest.Server) {
	t.Helper()
	for _, standby := range standbys {
		before := r.served(t, standby.Host(), "exact")
		pgtest.Eventually(t, time.Minute, "reads by the standby "+standby.Host(), func() bool {
			for _, s := range r.stores[:2] {
				if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
					t.Fatalf("listing: got error %v, want a page", err)
				}
			}
			return r.served(t, standby.Host(), "exact") > before
		})
	}
}

// during has the stores prove that they are linearizable while the fault comes and
// goes, at least three times.
func (r *readers) during(t *testing.T, fault func()) {
	t.Helper()
	const least = 3
	enough, stop := make(chan struct{}), make(chan struct{})
	var faults sync.WaitGroup
	faults.Go(func() {
		for n := 1; ; n++ {
			fault()
			if n == least {
				close(enough)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	defer faults.Wait()
	defer close(stop)
	for {
		storetest.Linearizable(t, r.stores[0], r.stores[1], r.stores[2])
		select {
		case <-enough:
			return
		default:
		}
	}
}

// Each reason is counted: so the fault met reads. The times are those of the
// faults, and nothing waits for them.
func TestReadsByStandbysAreLinearizableWhateverBefallsThem(t *testing.T) {
	t.Parallel()
	r := startReaders(t)
	delayed := func(t *testing.T, one, two string) {
		for server, delay := range map[*pgtest.Server]string{r.one: one, r.two: two} {
			server.Configure(t, map[string]string{"recovery_min_apply_delay": delay})
		}
	}
	// A function of that name takes the place of PostgreSQL's own. It takes longer
	// than the delay of the replay, so that a commit is mostly replayed after a
	// snapshot and before the position is known.
	t.Run("their positions take long to be told", func(t *testing.T) {
		pgtest.Exec(t, r.primary.Address("postgres"), `CREATE FUNCTION pg_last_wal_replay_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(0.03); RETURN pg_catalog.pg_last_wal_replay_lsn(); END $$`)
		slow := *r
		slow.open(t, "&search_path=public,pg_catalog")
		delayed(t, "20ms", "20ms")
		slow.during(t, func() { time.Sleep(time.Millisecond) })
		slow.wantServing(t, r.one, r.two)
	})
	t.Run("they lag by less than the limit", func(t *testing.T) {
		delayed(t, "7ms", "20ms")
		r.during(t, func() { time.Sleep(time.Millisecond) })
		r.wantServing(t, r.one, r.two)
		delayed(t, "0", "0")
	})
	t.Run("the replay pauses", func(t *testing.T) {
		before := r.served(t, "primary", "lag")
		r.during(t, func() {
			pgtest.Exec(t, r.two.Address("postgres"), "SELECT pg_wal_replay_pause()")
			time.Sleep(150 * time.Millisecond)
			pgtest.Exec(t, r.two.Address("postgres"), "SELECT pg_wal_replay_resume()")
			time.Sleep(300 * time.Millisecond)
		})
		if r.served(t, "primary", "lag") == before {
			t.Error("got no read that the primary served for the lag of a standby, want some")
		}
		r.wantServing(t, r.two)
	})
	// Commits wait for it meanwhile, and the other shows them already.
	t.Run("one hangs for moments", func(t *testing.T) {
		before := r.served(t, "primary", "newer_row")
		for tries := 0; tries < 5 && r.served(t, "primary", "newer_row") == before; tries++ { // chance has to bring one
			r.during(t, func() {
				r.one.Hang()
				time.Sleep(100 * time.Millisecond)
				r.one.Resume()
				time.Sleep(50 * time.Millisecond)
			})
		}
		if r.served(t, "primary", "newer_row") == before {
			t.Error("got no read that met a row which the primary did not show, want some")
		}
	})
	t.Run("one hangs", func(t *testing.T) {
		before := r.served(t, "primary", "hang")
		r.during(t, func() {
			r.one.Hang()
			time.Sleep(1500 * time.Millisecond)
			r.one.Resume()
			time.Sleep(time.Second)
		})
		if r.served(t, "primary", "hang") == before {
			t.Error("got no read that the primary served because a standby hung, want some")
		}
		r.wantServing(t, r.one)
	})
	// No commit waits for one from here on: it may be away for longer than a request.
	r.primary.Configure(t, map[string]string{"synchronous_standby_names": "two"})
	t.Run("one is killed and starts again", func(t *testing.T) {
		before := r.served(t, "primary", "connection")
		r.during(t, func() {
			r.one.Kill()
			r.one.Restart(t)
			time.Sleep(time.Second)
		})
		if r.served(t, "primary", "connection") == before {
			t.Error("got no read that the primary served because a standby was gone, want some")
		}
		r.wantServing(t, r.one)
	})
	t.Run("one is promoted", func(t *testing.T) {
		r.primary.Configure(t, map[string]string{"synchronous_standby_names": bothStandbys})
		var once sync.Once
		r.during(t, func() { once.Do(func() { r.failOver(t) }) })
		r.wantServing(t, r.two)
	})
}

// failOver kills the primary, promotes the standby that has more of its log and has
// the other stream from it. It calls them one and two.
func (r *readers) failOver(t *testing.T) {
	r.primary.Kill()
	received := func(s *pgtest.Server) string {
		return pgtest.Query[string](t, s.Address("postgres"), "SELECT pg_last_wal_receive_lsn()::text")
	}
	if !pgtest.Query[bool](t, r.one.Address("postgres"), "SELECT $1::text::pg_lsn >= $2::text::pg_lsn", received(r.one), received(r.two)) {
		r.one, r.two = r.two, r.one
	}
	r.one.Promote(t)
	host, port, _ := strings.Cut(r.one.Host(), ":")
	r.two.Configure(t, map[string]string{"primary_conninfo": "host=" + host + " port=" + port + " user=postgres application_name=two"})
}
