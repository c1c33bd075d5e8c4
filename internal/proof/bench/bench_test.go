//go:build wrk && linux

// Package bench compares petstore with a server made of the same parts as their documentation shows:
// oapi-codegen's strict server and kin-openapi's filter of requests, with Echo's own middleware, on the
// same stores. `make bench` runs it, and prints the table of README.md.
//
// Each round starts new servers, since two processes of one program differ by some percent:
// petstore, the other server with petstore's setting of the garbage collector, and the other
// server with Go's default. Each store then gets 20,000 pets. Requests are random. wrk sends each
// server as many as it can serve, for three seconds, over 32 connections. The load and the servers
// each have one processor of their own. No response may be an error, and all logs go to /dev/null.
// A figure is the median of the rounds, and ÷ that of their quotients; in brackets is the middle
// half of these, because one slow write of the disk is enough for a low or a high quotient.
package bench

import (
	"crypto/sha256"
	"crypto/subtle"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/service"
)

var (
	rounds = flag.Int("rounds", 5, "how often each load is sent to each server")
	peer   = flag.String("peer", "", "the address of the other server, which TestPeer runs")
	store  = flag.String("store", "", "the address of its store")
)

const (
	stored      = 20_000 // pets of each server when the load begins
	connections = 32
	seconds     = 3 // of a round
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
	{"get", func() string { return "GET " + example.PetPath(1+rand.IntN(stored)) }},
	{"create", func() string { return "POST " + example.ListPath() + " " + random(bodies) }},
}

// bodies are the pets of the sandbox; filters are queries that select some of them.
var (
	bodies  = slices.Collect(strings.Lines(string(example.Must(os.ReadFile("../../../cmd/petstore/sandbox.ndjson")))))
	filters = slices.Collect(maps.Keys(example.Filters()))
)

func random(all []string) string { return strings.TrimSpace(all[rand.IntN(len(all))]) }

// BenchmarkPetstore prints the requests per second of petstore and of the other server.
func BenchmarkPetstore(b *testing.B) {
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	_, cpu, _ := strings.Cut(string(cpuinfo), "model name\t: ")
	cpu, _, _ = strings.Cut(cpu, "\n")
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	fmt.Printf("\nMeasured on %s at %s, with %d rounds of %d s on %s.\n", time.Now().Format("2 January 2006"),
		strings.TrimSpace(string(commit)), *rounds, seconds, cpu)
	fmt.Println("In brackets is the middle half of the rounds.")
	fmt.Println("\n| store | operation | petstore | other, GOGC=250 | ÷ petstore | other, GOGC=100 | ÷ petstore |")
	fmt.Println("| --- | --- | --: | --: | --: | --: | --: |")
	for _, kind := range slices.Sorted(maps.Keys(program.Stores)) {
		b.Run(kind, func(b *testing.B) {
			newAddress := program.Stores[kind](b)
			rates := make([][3][]float64, len(operations)) // of each operation and server, one for each round
			for round := range *rounds {
				b.Run(fmt.Sprint(round+1), func(b *testing.B) {
					servers := []string{program.FreeAddress(b)}
					program.Serve(b, nil, servers[0], "--store", newAddress(), "--log-format", "json")
					for _, gogc := range []string{"250", "100"} { // petstore's setting, and Go's default
						servers = append(servers, startPeer(b, newAddress(), gogc))
					}
					for _, addr := range servers {
						fill(b, addr)
					}
					for i, o := range operations {
						requests := writeRequests(b, o.random)
						for j, addr := range servers {
							rates[i][j] = append(rates[i][j], saturate(b, addr, requests))
						}
					}
				})
			}
			for i, o := range operations {
				petstore := rates[i][0]
				fmt.Printf("| %s | %s | %.0f |", kind, o.name, quantile(petstore, 0.5))
				for _, others := range rates[i][1:] {
					var ratios []float64
					for round, n := range petstore {
						ratios = append(ratios, others[round]/n)
					}
					fmt.Printf(" %.0f | %.2f (%.2f–%.2f) |", quantile(others, 0.5),
						quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75))
				}
				fmt.Println()
			}
		})
	}
}

// fill creates the pets that a server has when the load begins.
func fill(b *testing.B, addr string) {
	for range stored {
		status, text, err := program.Send(b.Context(), http.DefaultClient, "POST", "http://"+addr+example.ListPath(), random(bodies))
		if err != nil || status != http.StatusCreated {
			b.Fatal(text, err)
		}
	}
}

// writeRequests writes a file of random requests.
func writeRequests(b *testing.B, random func() string) (file string) {
	var lines strings.Builder
	for range stored {
		fmt.Fprintln(&lines, random())
	}
	file = filepath.Join(b.TempDir(), "requests")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	return file
}

// saturate has wrk send the requests in a file for some seconds, as fast as the server
// responds. It returns how many it served per second.
func saturate(b *testing.B, addr, file string) float64 {
	out, err := exec.Command("taskset", "-c", "1", "wrk", "-t1", fmt.Sprintf("-c%d", connections), fmt.Sprint("-d", seconds), "-s", "testdata/load.lua",
		"-H", "Authorization: Bearer "+program.Key, "-H", "Content-Type: application/json",
		"http://"+addr, "--", file).CombinedOutput()
	_, summary, _ := strings.Cut(string(out), "summary:")
	var requests, microseconds, errors float64
	if _, scanErr := fmt.Sscan(summary, &requests, &microseconds, &errors); err != nil || scanErr != nil || requests == 0 || errors > 0 {
		b.Fatalf("%v, %v: %s", err, scanErr, out)
	}
	return requests / microseconds * 1e6
}

// quantile returns the value below which a part of the values lies, such as 0.5 for the median.
func quantile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := part * float64(len(sorted)-1)
	low, high := sorted[int(at)], sorted[int(math.Ceil(at))]
	return low + (high-low)*(at-math.Floor(at))
}

// startPeer starts the other server in a process of its own, and returns its address.
func startPeer(b *testing.B, storeAddress, gogc string) (addr string) {
	addr = program.FreeAddress(b)
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeer$", "-test.timeout=0", "-peer="+addr, "-store="+storeAddress)
	cmd.Env = append(os.Environ(), "GOGC="+gogc)
	program.Start(b, cmd, addr)
	return addr
}

// TestPeer serves the other server for BenchmarkPetstore, until it is killed. It has the middleware
// that a deployed service needs, all from Echo: request IDs, a JSON log, recovery from panics, security
// headers, a body limit, and an API key, kept as a hash.
func TestPeer(t *testing.T) {
	if *peer == "" {
		return
	}
	st := program.Open(t, *store)
	slog.SetDefault(slog.New(slog.NewJSONHandler(example.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0)), nil)))
	hash := sha256.Sum256([]byte(program.Key))
	e := echo.New()
	e.Use(middleware.RequestID(), middleware.RequestLogger(), middleware.Recover(),
		middleware.Secure(), middleware.BodyLimit("64K"),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}), validate())
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(service.Operations(st, example.Base()), nil), example.Base())
	s := &http.Server{
		Addr: *peer, Handler: e, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
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
