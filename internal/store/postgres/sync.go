package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// durability describes what protects the commits of a session against the loss of
// a server.
type durability struct {
	Commit   string `json:"sync"`     // synchronous_commit
	Messages string `json:"messages"` // client_min_messages
	Names    string `json:"names"`    // synchronous_standby_names
	Standbys int    `json:"standbys"` // synchronous standbys that commits wait for; -1 if unknown

	server string // for messages
}

// selectDurability returns a durability as JSON. It counts no standby if commits do
// not wait for it, or if the server does not send the WARNING that such a wait was
// canceled; see attempt.
const selectDurability = `SELECT row_to_json(d)::text FROM (SELECT sync, messages, names, CASE
WHEN sync IN ('off', 'local') OR messages = 'error' THEN 0 WHEN standbys = 0 AND hidden > 0 THEN -1 ELSE standbys END AS standbys
FROM current_setting('synchronous_commit') AS sync, current_setting('client_min_messages') AS messages,
current_setting('synchronous_standby_names') AS names, (SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS standbys,
count(*) FILTER (WHERE sync_state IS NULL) AS hidden FROM pg_stat_replication) AS replication) AS d`

// readDurability returns the durability of the server, and with Citus that of every
// node, of which some may be unreachable.
func readDurability(ctx context.Context, conn *pgx.Conn, citus bool) (all []durability, err error) {
	query := "SELECT 'the server', (" + selectDurability + ")"
	if citus {
		query += ` UNION ALL SELECT format('the node %s:%s', nodename, nodeport), CASE WHEN success THEN result END
FROM run_command_on_all_nodes($$` + selectDurability + `$$) JOIN pg_dist_node USING (nodeid)`
	}
	rows, _ := conn.Query(ctx, query) // ForEachRow returns the error
	var server string
	var text *string // NULL if the node is unreachable
	_, err = pgx.ForEachRow(rows, []any{&server, &text}, func() error {
		d := durability{Standbys: -1, server: server}
		all = append(all, d)
		if text == nil {
			return nil
		}
		return json.Unmarshal([]byte(*text), &all[len(all)-1])
	})
	return all, err
}

// check returns an error if a crash could lose acknowledged writes, or with
// requireSync unless commits wait for a synchronous standby and one is connected.
func (d durability) check(requireSync bool, user string) error {
	var reason string
	switch {
	case d.Commit == "off":
		return fmt.Errorf("a crash of %s would lose writes, because synchronous_commit is off for this server, database or user; set it to on", d.server)
	case !requireSync:
		return nil
	case d.Commit == "":
		reason = d.server + " cannot be reached"
	case strings.TrimSpace(d.Names) == "":
		reason = d.server + " does not wait for a standby, because its synchronous_standby_names is empty; set it"
	case d.Commit == "local":
		reason = d.server + " does not wait for a standby, because synchronous_commit is local for this server, database or user; set it to on"
	case d.Messages == "error":
		reason = "a canceled wait for a standby of " + d.server + " would go unnoticed, because client_min_messages is error for this server, database or user; set it to notice"
	case d.Standbys < 0:
		reason = fmt.Sprintf("the user may not see the standbys of %s; run GRANT pg_monitor TO %q there", d.server, user)
	case d.Standbys == 0:
		reason = "no synchronous standby is connected to " + d.server + ", which may be an old primary; start a standby"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotSynchronous, reason)
}

var (
	connections  = prometheus.NewDesc("postgres_connections", "Open connections.", nil, nil)
	inUse        = prometheus.NewDesc("postgres_connections_in_use", "Connections in use.", nil, nil)
	syncStandbys = prometheus.NewDesc("postgres_sync_standbys", "Synchronous standbys that commits wait for, on Citus those of the node with the fewest; -1 if unknown.", nil, nil)
	syncRequired = prometheus.NewDesc("postgres_sync_required", "1 with --require-sync.", nil, nil)
)

func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, inUse, syncStandbys, syncRequired} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It asks for the standbys on a new
// connection, because those in the pools keep the settings that the user had when
// they were opened.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), outageWait)
	defer cancel()
	standbys := -1 // of the worst node
	if conn, err := pgx.ConnectConfig(ctx, s.reads.Config().ConnConfig); err == nil {
		defer disconnect(conn)
		if nodes, err := readDurability(ctx, conn, s.citus); err == nil {
			standbys = slices.MinFunc(nodes, func(a, b durability) int { return a.Standbys - b.Standbys }).Standbys
		}
	}
	writes, reads := s.writes.Stat(), s.reads.Stat()
	for desc, v := range map[*prometheus.Desc]float64{
		connections:  float64(writes.TotalConns() + reads.TotalConns()),
		inUse:        float64(writes.AcquiredConns() + reads.AcquiredConns()),
		syncStandbys: float64(standbys),
		syncRequired: map[bool]float64{true: 1}[s.requireSync],
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
}
