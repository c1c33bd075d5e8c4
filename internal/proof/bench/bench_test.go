//go:build wrk && linux

// Package bench compares petstore with a server made of the same parts as their
// documentation shows: oapi-codegen's strict server and kin-openapi's filter of requests,
// with Echo's own middleware, on the same stores. `make bench` runs it, and prints the
// table of README.md.
//
// Each round starts both servers anew, since two processes of one program differ by some
// percent. Each store then gets 20,000 pets. Requests are random. wrk sends each server as many
// as it can serve, for three seconds, over 32 connections. The load and the server each have one
// processor of their own. No response may be an error, and all logs go to /dev/null. A figure is
// the median of the rounds, and the last column that of their quotients; in brackets are the
// lowest and the highest.
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
	"net/http/httptest"
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

var rounds = flag.Int("rounds", 5, "how often each load is sent to each server")

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
	bodies  = slices.Collect(strings.Lines(string(must(os.ReadFile("../../../cmd/petstore/sandbox.ndjson")))))
	filters = slices.Collect(maps.Keys(example.Filters()))
)

func random(all []string) string { return strings.TrimSpace(all[rand.IntN(len(all))]) }

// BenchmarkPetstore prints the requests per second of petstore and of its peer.
func BenchmarkPetstore(b *testing.B) {
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	_, cpu, _ := strings.Cut(string(cpuinfo), "model name\t: ")
	cpu, _, _ = strings.Cut(cpu, "\n")
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	fmt.Printf("\nMeasured on %s at %s, with %d rounds of %d s on %s.\n", time.Now().Format("2 January 2006"),
		strings.TrimSpace(string(commit)), *rounds, seconds, cpu)
	fmt.Println("\n| store | operation | petstore | oapi-codegen as documented | ÷ petstore |")
	fmt.Println("| --- | --- | --: | --: | --: |")
	for _, kind := range slices.Sorted(maps.Keys(program.Stores)) {
		b.Run(kind, func(b *testing.B) {
			newAddress := program.Stores[kind](b)
			ours, theirs := map[string][]float64{}, map[string][]float64{}
			for round := range *rounds {
				b.Run(fmt.Sprint(round+1), func(b *testing.B) {
					petstore, peer := program.FreeAddress(b), startPeer(b, newAddress())
					program.Serve(b, nil, petstore, "--store", newAddress(), "--log-format", "json")
					fill(b, petstore)
					fill(b, peer)
					for _, o := range operations {
						requests := writeRequests(b, o.random)
						ours[o.name] = append(ours[o.name], saturate(b, petstore, requests))
						theirs[o.name] = append(theirs[o.name], saturate(b, peer, requests))
					}
				})
			}
			for _, o := range operations {
				var ratios []float64
				for round, n := range ours[o.name] {
					ratios = append(ratios, theirs[o.name][round]/n)
				}
				fmt.Printf("| %s | %s | %.0f | %.0f | %.2f (%.2f–%.2f) |\n", kind, o.name, median(ours[o.name]),
					median(theirs[o.name]), median(ratios), slices.Min(ratios), slices.Max(ratios))
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

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// startPeer serves the peer from the store at an address, and returns its own address. It
// has the middleware that a deployed service needs, all from Echo: request IDs, a JSON
// log, recovery from panics, security headers, a body limit, and an API key, kept as a
// hash.
func startPeer(b *testing.B, storeAddress string) (addr string) {
	st := program.Open(b, storeAddress)
	slog.SetDefault(slog.New(slog.NewJSONHandler(must(os.OpenFile(os.DevNull, os.O_WRONLY, 0)), nil)))
	hash := sha256.Sum256([]byte(program.Key))
	e := echo.New()
	e.Use(middleware.RequestID(), middleware.RequestLogger(), middleware.Recover(),
		middleware.Secure(), middleware.BodyLimit("64K"),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}), validate())
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(service.Operations(st, example.Base()), nil), example.Base())
	s := httptest.NewUnstartedServer(e)
	s.Config.ReadHeaderTimeout, s.Config.ReadTimeout = 5*time.Second, 10*time.Second
	s.Config.WriteTimeout, s.Config.IdleTimeout = 30*time.Second, 2*time.Minute
	s.Start()
	b.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// validate returns a middleware that finds the route and validates the request. It does
// what oapi-codegen's github.com/oapi-codegen/echo-middleware does, which is not available
// as a module.
func validate() echo.MiddlewareFunc {
	document := must(openapi3.NewLoader().LoadFromData(gen.Document))
	document.Servers = openapi3.Servers{{URL: example.Base()}}
	router := must(gorillamux.NewRouter(document))
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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
