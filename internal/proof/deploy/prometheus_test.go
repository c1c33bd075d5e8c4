//go:build deploy

package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestTheAlertsFireAsTheirTestsSay(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = root(t, "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: got %v, want success\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestADashboardOfLoadedServersIsNotEmpty has a real Prometheus scrape a server on
// SQLite, and a server on PostgreSQL with a standby and TLS, under load. It asks it every
// query of the dashboard and for every metric of the alerts.
func TestADashboardOfLoadedServersIsNotEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := "sqlite:" + dir + "/pets.db"
	primary := pgtest.Start(t)
	cluster := pgtest.Addresses("postgres", primary, primary.Standby(t, "one"))
	var admins []string
	var loads []*load
	makeCertificate(t, dir)
	for scheme, args := range map[string][]string{
		"http":  {"--store", file},
		"https": {"--store", cluster, "--reads", "standbys", "--tls-cert", dir + "/cert.pem", "--tls-key", dir + "/key.pem"},
	} {
		address, admin := freeAddress(t), freeAddress(t)
		// The dashboard has no line for a memory limit that is none.
		serve(t, []string{"GOMEMLIMIT=1GiB"}, address, append(args, "--admin-addr", admin)...)
		url := scheme + "://" + address
		loads, admins = append(loads, startLoad(t, url)), append(admins, "'"+admin+"'")
		// An error of the client's, and calls of the deprecated operation.
		for path, want := range map[string]int{"/v1/pets?limit=0": http.StatusBadRequest, "/v1/pets/4711": http.StatusNotFound} {
			if status, text, err := send(t.Context(), client(), http.MethodGet, url+path, ""); err != nil || status != want {
				t.Fatalf("GET %s: got %d %s (%v), want %d", path, status, text, err, want)
			}
		}
	}
	command(t, petstore(t), "backup", "--store", file, dir+"/backup.db")

	config := replace(t, read(t, "deploy", "prometheus", "prometheus.yml"), `targets: \[.*\]`, "targets: ["+strings.Join(admins, ", ")+"]")
	config = replace(t, config, `scrape_interval: 15s`, "scrape_interval: 1s")
	write(t, dir+"/prometheus.yml", config)
	write(t, dir+"/alerts.yml", read(t, "deploy", "prometheus", "alerts.yml"))
	web := freeAddress(t)
	prometheus := start(t, nil, "prometheus", "--config.file", dir+"/prometheus.yml", "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", web)
	prometheus.eventually(t, "a rate of the requests of both servers", func() bool {
		samples, err := ask(t, web, `sum by (instance) (rate(petstore_http_request_duration_seconds_count{operation="listPets"}[1m])) > 0`)
		return err == nil && samples == len(admins)
	})
	for _, l := range loads {
		l.finish(t)
	}

	// Some metrics come later than others, such as those that PostgreSQL is asked for.
	has := func(what, query string) {
		t.Helper()
		prometheus.eventually(t, "samples of "+what, func() bool {
			samples, err := ask(t, web, query)
			return err == nil && samples > 0
		})
	}
	panels, alerts := queriesOf(t)
	for _, query := range panels {
		has(query+", which the dashboard asks", query)
	}
	for _, query := range alerts {
		if _, err := ask(t, web, query); err != nil {
			t.Errorf("%s, which an alert asks: got error %v, want a result", query, err)
		}
		for _, metric := range regexp.MustCompile(`\b(petstore|process|go)_[a-z_]+`).FindAllString(query, -1) {
			has(metric+", which an alert asks for", metric)
		}
	}
}

// ask returns how many samples the Prometheus at address has for a query.
func ask(t *testing.T, address, query string) (samples int, err error) {
	t.Helper()
	status, text, err := send(t.Context(), client(), http.MethodGet, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query), "")
	if err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("%d %s (%w)", status, text, err)
	}
	var result struct {
		Data struct{ Result []json.RawMessage }
	}
	err = json.Unmarshal([]byte(text), &result)
	return len(result.Data.Result), err
}

// queriesOf returns the queries of the dashboard and of the alerts.
func queriesOf(t *testing.T) (panels, alerts []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(read(t, "deploy", "prometheus", "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			panels = append(panels, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	folded := strings.ReplaceAll(read(t, "deploy", "prometheus", "alerts.yml"), "expr: >\n", "expr:")
	folded = regexp.MustCompile(`\n +/ `).ReplaceAllString(folded, " / ")
	for _, m := range regexp.MustCompile(`(?m)^ +expr: *(.+)$`).FindAllStringSubmatch(folded, -1) {
		alerts = append(alerts, m[1])
	}
	if want := strings.Count(folded, "- alert:"); len(panels) < 20 || len(alerts) != want {
		t.Fatalf("queries: got %d of panels and %d of alerts, want those of all panels and of %d alerts", len(panels), len(alerts), want)
	}
	return panels, alerts
}
