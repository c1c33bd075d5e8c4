//go:build deploy

package deploy

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const path = "/v1/pets"

// fault is a fault of a store, and the alerts that tell of it.
type fault struct {
	alerts []string
	// start returns the arguments of a server on a sound store and what makes it
	// fail. A fault may need requests to url before the server sees it.
	start func(t *testing.T) (args []string, fail func(c *http.Client, url string))
}

var faults = map[string]fault{
	"damaged": {[]string{"PetstoreFileCorrupt", "PetstoreNotReady"}, func(t *testing.T) ([]string, func(*http.Client, string)) {
		file := filled(t, t.TempDir())
		return []string{"--store", "sqlite:" + file}, func(c *http.Client, url string) {
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err == nil {
				const schema = 16 * 4096 // pages that the server may have read
				_, err = f.WriteAt(make([]byte, info.Size()-schema), schema)
			}
			if err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			_, _, _ = send(c, http.MethodGet, url+path+"?limit=100&after=2000", "") // only the metrics count
		}
	}},
	"disk full": {[]string{"PetstoreDiskFull"}, func(t *testing.T) ([]string, func(*http.Client, string)) {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		file := filled(t, dir)
		return []string{"--store", "sqlite:" + file}, func(c *http.Client, url string) {
			write(t, dir+"/other", "")
			fill, _ := os.OpenFile(dir+"/other", os.O_WRONLY, 0)
			for err := error(nil); err == nil; {
				_, err = fill.Write(make([]byte, 1024))
			}
			_ = fill.Close()
			eventually(t, "a 503", func() bool {
				status, _, _ := sendOnce(c, http.MethodPost, url+path, `{"name":"`+strings.Repeat("x", 5000)+`","categoryId":1}`, rand.Text())
				return status == http.StatusServiceUnavailable
			})
		}
	}},
}

// TestFaults feeds the alerts with the metrics of a real server before and under a
// fault: the alert must not fire before, and must fire soon, a day later, and if the
// first scrape shows the fault already.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, test := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, fail := test.start(t)
			address, admin := freeAddress(t), freeAddress(t)
			serve(t, address, append(args, "--admin-addr", admin)...)
			metrics := "http://" + admin + "/metrics"
			before := waitFor(t, metrics)
			c := newClient()
			fail(c, "http://"+address)
			dir, problem := t.TempDir(), ""
			defer func() {
				if problem != "" {
					t.Log(problem)
				}
			}()
			eventually(t, strings.Join(test.alerts, ", "), func() bool {
				problem = promtool(t, dir, before, waitFor(t, metrics), test.alerts)
				return problem == ""
			})
		})
	}
}

// filled returns the path of a new store in dir with 3,000 pets and a backup.
func filled(t *testing.T, dir string) string {
	t.Helper()
	file := dir + "/petstore.db"
	list := t.TempDir() + "/pets.ndjson"
	write(t, list, strings.Repeat(`{"name":"one of many, so that the file has many pages","categoryId":1}`+"\n", 3000))
	run(t, nil, petstore(t), "import", list, "--store", "sqlite:"+file)
	run(t, nil, petstore(t), "backup", list+".db", "--store", "sqlite:"+file)
	return file
}

var sample = regexp.MustCompile(`(?m)^(petstore_\w+)(?:\{(.*)\})? (\S+)$`)

// promtool checks that exactly these alerts fire under a fault that begins after 10
// minutes or before the first scrape, and none before it. It returns what is wrong.
func promtool(t *testing.T, dir, before, under string, alerts []string) string {
	t.Helper()
	values := map[string][2]string{} // by series
	for i, text := range []string{before, under} {
		for _, m := range sample.FindAllStringSubmatch(text, -1) {
			v, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			name := m[1] + `{job="petstore", instance="a"`
			if m[2] != "" {
				name += ", " + m[2]
			}
			pair := values[name+"}"]
			pair[i] = strconv.FormatFloat(v, 'f', -1, 64)
			values[name+"}"] = pair
		}
	}
	var later, first strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pair := values[name]
		for i := range pair {
			if pair[i] == "" {
				pair[i] = "_"
			}
		}
		fmt.Fprintf(&later, "  - {series: '%s', values: '%sx1 %sx300'}\n", name, pair[0], pair[1])
		fmt.Fprintf(&first, "  - {series: '%s', values: '%sx300'}\n", name, pair[1])
	}
	expected := ""
	for _, alert := range alerts {
		expected += fmt.Sprintf("{labels: '{alertname=%q}', value: 1}, ", alert)
	}
	test := func(series, moments string) string {
		text := "- interval: 5m\n  input_series:\n" + series + "  promql_expr_test:\n"
		for moment := range strings.FieldsSeq(moments) {
			samples := expected
			if moment == "5m" {
				samples = ""
			}
			text += "  - {expr: 'count by (alertname) (ALERTS{alertstate=\"firing\"})', eval_time: " + moment + ", exp_samples: [" + samples + "]}\n"
		}
		return text
	}
	write(t, dir+"/test.yml", "rule_files: ["+root(t, "deploy", "prometheus")+"/alerts.yml, "+root(t, "deploy", "prometheus")+"/alerts_postgres.yml]\nevaluation_interval: 5m\ntests:\n"+
		test(later.String(), "5m 30m 24h50m")+test(first.String(), "30m 24h50m"))
	if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", dir+"/test.yml").CombinedOutput(); err != nil {
		return string(out)
	}
	return ""
}
