//go:build wrk && linux

// Package bench compares petstore with a server made of the same parts as their documentation shows:
// oapi-codegen's strict server and kin-openapi's filter of requests, with middleware of Echo and of
// Prometheus' client, on the same stores. `make bench` runs it, and prints the table of README.md.
//
// Each round starts new servers, since two processes of one program differ by some percent. wrk sends each
// as many random requests as it can serve, for a second, in turn and back again: the machine may slow down
// meanwhile. The load and the servers each have one processor of their own. No response may be an error.
//
// The cost of a request is the time of the processor that the server used, so waiting for the disk
// is no part of it. ÷ is petstore's cost divided by the other server's in the same round: the median
// of the rounds, and the middle half of them.
package bench

import (
	"crypto/sha256"
	"crypto/subtle"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
)

var (
	rounds = flag.Int("rounds", 11, "how often new servers are measured")
	beside = flag.String("beside", "", "another build of petstore, which is measured in place of the other server")
	peer   = flag.String("peer", "", "the address of the other server, which TestPeer runs")
	store  = flag.String("store", "", "the address of its store")
)

const (
	stored = 20_000 // pets of each server when the load begins
	spread = 0.15   // the most that the middle half of a row may differ by
)

// operations are those measured. Each returns a random request, "METHOD PATH BODY".
// The lists leave out the last pets, so that most pages are full.
var operations = []struct {
	name   string
	random func() string
}{
	{"list", func() string {
		return fmt.Sprintf("GET %s?limit=20&after=%d", example.ListPath(), rand.IntN(stored-300))
	}},
	{"filtered list", func() string {
		return fmt.Sprintf("GET %s?limit=20&%s&after=%d", example.ListPath(), random(filters), rand.IntN(stored-300))
	}},
	{"get", func() string { return fmt.Sprintf("GET %s/%d", example.ListPath(), 1+rand.IntN(stored)) }},
	{"create", func() string { return "POST " + example.ListPath() + " " + random(bodies) }},
}

// bodies are the pets of the sandbox; filters are queries that select some of them.
var (
	bodies  = slices.Collect(strings.Lines(string(example.Must(os.ReadFile("../../../cmd/petstore/sandbox.ndjson")))))
	filters = slices.Collect(maps.Keys(example.Filters()))
)

func random(all []string) string { return strings.TrimSpace(all[rand.IntN(len(all))]) }

// BenchmarkPetstore prints what a request costs petstore, compared with the other server.
func BenchmarkPetstore(b *testing.B) {
	for _, kind := range slices.Sorted(maps.Keys(program.Stores)) {
		b.Run(kind, func(b *testing.B) {
			newAddress := program.Stores[kind](b)
			rows := make([][3][]float64, len(operations)) // of each round: petstore's microseconds, and two ratios
			for round := range *rounds {
				b.Run(fmt.Sprint(round+1), func(b *testing.B) {
					servers := start(b, newAddress)
					for i, o := range operations {
						var requests strings.Builder
						for range stored {
							fmt.Fprintln(&requests, o.random())
						}
						var cpu, served [3]float64
						for _, j := range []int{0, 1, 2, 2, 1, 0} {
							before := cpuTime(servers[j])
							served[j] += saturate(b, servers[j], requests.String())
							cpu[j] += cpuTime(servers[j]) - before
						}
						rows[i][0] = append(rows[i][0], cpu[0]/served[0]*1e6)
						for j := 1; j < len(servers); j++ {
							rows[i][j] = append(rows[i][j], cpu[0]/served[0]*served[j]/cpu[j])
						}
					}
				})
			}
			report(b, kind, rows)
		})
	}
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	fmt.Printf("\nMeasured on %s with %d rounds at %s", time.Now().Format("2 January 2006"), *rounds, commit)
}

// start starts petstore and the other servers, and fills their stores.
func start(b *testing.B, newAddress func() string) (servers []*program.Process) {
	null := example.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))
	for i, gogc := range []string{"", "250", "100"} { // petstore, and the other server with its setting and Go's
		addr, store := program.FreeAddress(b), newAddress()
		petstore := []string{"serve", "--addr", addr, "--store", store, "--log-format", "json"}
		cmd := exec.Command("../../../.bin/petstore", petstore...)
		switch {
		case i > 0 && *beside != "":
			cmd, gogc = exec.Command(*beside, petstore...), ""
		case i > 0:
			cmd = exec.Command(os.Args[0], "-test.run=^TestPeer$", "-test.timeout=0", "-peer="+addr, "-store="+store)
		}
		cmd.Env = append(os.Environ(), "GOGC="+gogc, "PETSTORE_API_KEYS="+program.Key)
		cmd.Stdout, cmd.Stderr = null, null
		servers = append(servers, program.Start(b, cmd, addr))
	}
	var fills sync.WaitGroup
	for _, s := range servers {
		fills.Go(func() {
			url := "http://" + s.Addr + example.ListPath()
			for range stored {
				status, text, err := program.Send(b.Context(), http.DefaultClient, "POST", url, random(bodies))
				if !assert.True(b, err == nil && status == http.StatusCreated, "got %d %s, error %v", status, text, err) {
					return
				}
			}
		})
	}
	fills.Wait()
	return servers
}

// report prints the rows of a store, unless the rounds differ too much to say anything.
func report(b *testing.B, kind string, rows [][3][]float64) {
	var table strings.Builder
	var used []string
	for i, o := range operations {
		_, cost, _ := quartiles(rows[i][0])
		used = append(used, fmt.Sprintf("%.0f µs for a %s", cost, o.name))
		fmt.Fprintf(&table, "| %s | %s |", kind, o.name)
		for _, ratios := range rows[i][1:] {
			low, middle, high := quartiles(ratios)
			assert.LessOrEqual(b, high-low, spread*middle, "%s, %s: the middle half of the rounds is from %.2f to %.2f: "+
				"the machine does something else, so measure again when it is idle", kind, o.name, low, high)
			fmt.Fprintf(&table, " %.2f (%.2f–%.2f) |", middle, low, high)
		}
		fmt.Fprintln(&table)
	}
	if !b.Failed() {
		fmt.Printf("\n| store | operation | ÷ other, GOGC=250 | ÷ other, GOGC=100 |\n| --- | --- | --: | --: |\n%s", &table)
		fmt.Printf("\nOn %s, petstore itself uses %s.\n", kind, strings.Join(used, ", "))
	}
}

// saturate has wrk send requests, one on each line, for a second, as fast as the server responds.
// It returns how many it served.
func saturate(b *testing.B, s *program.Process, requests string) float64 {
	cmd := exec.Command("taskset", "-c", "1", "wrk", "-t1", "-c32", "-d1", "-s", "testdata/load.lua",
		"-H", "Authorization: Bearer "+program.Key, "-H", "Content-Type: application/json", "http://"+s.Addr)
	cmd.Stdin = strings.NewReader(requests)
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
	_, summary, _ := strings.Cut(string(out), "summary:")
	var served, errors float64
	_, err = fmt.Sscan(summary, &served, &errors)
	require.True(b, err == nil && served > 0 && errors == 0, "%v: %s", err, out)
	return served
}

// cpuTime returns the seconds of the processor that a server has used.
func cpuTime(s *program.Process) float64 {
	return example.Must(example.Must(procfs.NewProc(s.Pid)).Stat()).CPUTime()
}

// quartiles returns the median of the values, and the ends of their middle half.
func quartiles(values []float64) (low, median, high float64) {
	slices.Sort(values)
	n := len(values)
	return values[n/4], values[n/2], values[n*3/4]
}

// TestPeer serves the other server for BenchmarkPetstore, until it is killed. It has the duties of a deployed
// service, by middleware of Echo and of Prometheus' client: request IDs, a JSON log, recovery from panics,
// security headers, a body limit, a deadline, metrics, and an API key, kept as a hash.
func TestPeer(t *testing.T) {
	if *peer == "" {
		return
	}
	st := program.Open(t, *store)
	slog.SetDefault(slog.New(slog.NewJSONHandler(example.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0)), nil)))
	hash := sha256.Sum256([]byte(program.Key))
	e := echo.New()
	e.Use(middleware.RequestID(), middleware.RequestLogger(), middleware.Recover(),
		middleware.Secure(), middleware.BodyLimit("64K"), middleware.ContextTimeout(service.Timeout),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}), validate())
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(service.Operations(st, example.Base()), nil), example.Base())
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "http_request_duration_seconds"}, []string{"code", "method"})
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{Name: "http_requests_in_flight"})
	measured := promhttp.InstrumentHandlerInFlight(inFlight, promhttp.InstrumentHandlerDuration(durations, e))
	s := &http.Server{
		Addr: *peer, Handler: measured, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	t.Fatal(s.ListenAndServe())
}

// validate returns a middleware that finds the route and validates the request. It does what
// oapi-codegen's own github.com/oapi-codegen/echo-middleware does. The module proxy through which this
// repository gets its modules did not serve that one when we last asked, on 28 November 2026.
func validate() echo.MiddlewareFunc {
	document := example.Must(openapi3.NewLoader().LoadFromData(gen.Document))
	document.Servers = openapi3.Servers{{URL: example.Base()}}
	router := example.Must(gorillamux.NewRouter(document))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			route, params, err := router.FindRoute(c.Request())
			if err != nil {
				return echo.NewHTTPError(http.StatusNotFound, err.Error())
			}
			err = openapi3filter.ValidateRequest(c.Request().Context(), &openapi3filter.RequestValidationInput{
				Request:    c.Request(),
				PathParams: params,
				Route:      route,
				Options:    &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
			})
			if err != nil {
				return echo.NewHTTPError(http.StatusBadRequest, err.Error())
			}
			return next(c)
		}
	}
}
