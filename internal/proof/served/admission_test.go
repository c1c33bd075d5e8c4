package served_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/proof/petstoretest"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// blockingService returns no list before release is closed.
type blockingService struct {
	api.StrictServerInterface
	begun   chan struct{}
	release chan struct{}
}

func (s blockingService) ListPets(ctx context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	s.begun <- struct{}{}
	<-s.release
	return s.StrictServerInterface.ListPets(ctx, r)
}

// startFull returns a server whose one place for calls is taken, and whose queue is
// full.
func startFull(t *testing.T, change ...func(*petstoretest.Config)) (s *server, release func()) {
	t.Helper()
	b := blockingService{begun: make(chan struct{}, 3), release: make(chan struct{})}
	registry := prometheus.NewRegistry()
	s = start(t, append(change, func(c *petstoretest.Config) {
		b.StrictServerInterface = c.Methods
		c.Methods = b
		c.Limits.Calls, c.Metrics = 1, registry
	})...)
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() { s.get(t, petsPath).wants(t, 200, "", "") })
	}
	<-b.begun
	wantFigure(t, registry, "petstore_store_calls_queued", 2)
	return s, func() { close(b.release); waiting.Wait() }
}

// wantFigure waits until a metric without labels has a value.
func wantFigure(t *testing.T, registry *prometheus.Registry, name string, want float64) {
	t.Helper()
	var got float64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				got = f.Metric[0].GetGauge().GetValue()
			}
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s: got %v, want %v", name, got, want)
}

func TestAFullServiceRefusesAfterTheKeyAndBeforeTheBody(t *testing.T) {
	t.Parallel()
	s, release := startFull(t)
	defer release()
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"no key, a body that is too long":    {[]string{isJSON, "Content-Length: 100000"}, 401},
		"a body that never comes":            {[]string{withKey, isJSON, "Content-Length: 100"}, 503},
		"a body that is too long":            {[]string{withKey, isJSON, "Content-Length: 100000"}, 503},
		"another media type":                 {[]string{withKey, "Content-Type: text/plain", "Content-Length: 100"}, 503},
		"a body that is not asked for first": {[]string{withKey, isJSON, "Expect: 100-continue", "Content-Length: 100"}, 503},
	} {
		resp := s.send(t, "POST", petsPath, "", c.header...)
		resp.wants(t, c.want, "", "")
		if c.want == 503 && resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got no Retry-After, want one", name)
		}
	}
	s.get(t, petsPath+"?limit=x").wants(t, 503, "unavailable", "")
	for _, path := range []string{"/livez", "/readyz", "/openapi.yaml"} {
		s.send(t, "GET", path, "").wants(t, 200, "", "")
	}
}

func TestARefusalForLoadKeepsTheConnectionWhereTheBodyIsSmall(t *testing.T) {
	t.Parallel()
	full, release := startFull(t)
	defer release()
	limited := start(t, func(c *petstoretest.Config) { c.Limits.Rate = 0.1 })
	limited.get(t, petsPath).wants(t, 200, "", "")
	for want, s := range map[int]*server{503: full, 429: limited} {
		small := s.post(t, frank)
		small.wants(t, want, "", "")
		small.wantsOpen(t)
		large := s.post(t, padded(65537))
		large.wants(t, want, "", "")
		large.wantsClosed(t)
	}
}

func TestAPlaceIsGivenBackHoweverTheCallEnds(t *testing.T) {
	t.Parallel()
	for _, methods := range []api.StrictServerInterface{nil, panickingService{}} {
		registry := prometheus.NewRegistry()
		s := start(t, func(c *petstoretest.Config) {
			c.Limits.Calls, c.Metrics = 1, registry
			if methods != nil {
				c.Methods = methods
			}
		})
		for range 3 {
			if resp := s.get(t, petsPath+"/1"); resp.StatusCode == 503 {
				t.Errorf("got %d %s, want the place free", resp.StatusCode, resp.body)
			}
		}
		wantFigure(t, registry, "petstore_store_calls_in_flight", 0)
	}
}

type panickingService struct{ api.StrictServerInterface }

func TestAKeyBeyondItsRateHears429AndWhenToComeAgain(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *petstoretest.Config) { c.Limits.Rate = 0.1 })
	s.get(t, petsPath).wants(t, 200, "", "")
	for _, resp := range []response{
		s.get(t, petsPath), s.get(t, petsPath+"?limit=x"),
		s.send(t, "POST", petsPath, "", withKey, isJSON, "Content-Length: 100000"),
	} {
		resp.wants(t, 429, "rate_limited", "too many requests")
		if got := resp.Header.Get("Retry-After"); got != "10" {
			t.Errorf("Retry-After at a request in 10 s: got %q, want 10", got)
		}
	}
	s.send(t, "GET", petsPath, "").wants(t, 401, "", "")
	s.send(t, "GET", "/livez", "").wants(t, 200, "", "")
}

func TestLargeResponsesInFlightHaveABudget(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := start(t, func(c *petstoretest.Config) {
		c.Limits.ResponseBytes, c.Limits.LargestResponse, c.Metrics = 1<<20, 0, registry
	})
	for range 10 {
		if _, err := s.store.CreatePet(t.Context(), pets.NewPet{Name: strings.Repeat("x", 60<<10), Status: pets.Available}); err != nil {
			t.Fatal(err)
		}
	}
	s.get(t, petsPath+"?limit=4").wants(t, 200, "", "")
	s.get(t, petsPath+"?limit=5").wants(t, 500, "internal", "") // no wait would help
	s.get(t, petsPath+"?limit=4").wants(t, 200, "", "")
	wantFigure(t, registry, "petstore_response_bytes_in_flight", 0)
	wantFigure(t, registry, "petstore_response_bytes_limit", 1<<20)
}

func TestAClientThatLeavesIsNoErrorOfTheService(t *testing.T) {
	t.Parallel()
	b := waitingService{begun: make(chan struct{}, 1)}
	s := start(t, func(c *petstoretest.Config) { c.Methods = b })
	conn := s.dial(t)
	if _, err := conn.Write([]byte("GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n" + withKey + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-b.begun
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	line := s.log.wantLines(t, 1)[0]
	if line["status"] != 499.0 || line["level"] != "INFO" {
		t.Errorf("line of a client that left: got %v at %v, want 499 at INFO", line["status"], line["level"])
	}
}

// waitingService returns no list before the client has left.
type waitingService struct {
	api.StrictServerInterface
	begun chan struct{}
}

func (s waitingService) ListPets(ctx context.Context, _ api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	s.begun <- struct{}{}
	<-ctx.Done()
	return nil, &pets.Error{Kind: pets.Unavailable, Message: "the caller gave up", Err: ctx.Err()}
}

func TestASandboxRefusesNamesOfOtherHosts(t *testing.T) {
	t.Parallel()
	sandbox := start(t, func(c *petstoretest.Config) { c.LocalOrigins, c.PublicURL = true, "https://pets.example.com/v1" })
	everywhere := start(t)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "127.0.0.1": 200, "127.0.0.1:99": 200, "[::1]": 200, "[::1]:8080": 200,
		"pets.example.com": 200, "pets.example.com:443": 200,
		"evil.example": 400, "localhost.evil.example": 400, "127.0.0.1.evil.example": 400, "0.0.0.0": 400, "": 400,
	} {
		request := "GET /v1/pets HTTP/1.1\r\nHost: " + host + "\r\n" + withKey + "\r\n\r\n"
		resp := sandbox.sendRaw(t, request)
		if resp.StatusCode != want {
			t.Errorf("Host %q at a sandbox: got %d %s, want %d", host, resp.StatusCode, resp.body, want)
		}
		if want == 400 {
			resp.wants(t, 400, "invalid_request", "Host")
		}
		everywhere.sendRaw(t, request).wants(t, 200, "", "")
	}
}

func TestTheTraceOfARequestStandsInItsLine(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for header, want := range map[string]any{
		"00-" + id + "-00f067aa0ba902b7-01":                                id,
		"01-" + id + "-00f067aa0ba902b7-01-more":                           id,
		"00-" + id + "-00f067aa0ba902b7-01-more":                           nil,
		"ff-" + id + "-00f067aa0ba902b7-01":                                nil,
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":               nil,
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01":           nil,
		"00-" + id + "-0000000000000000-01":                                nil,
		"nonsense":                                                         nil,
		"00-" + id + "-00f067aa0ba902b7-01\r\nTraceparent: 00-" + id + "-": nil,
	} {
		s := start(t)
		s.get(t, petsPath, "traceparent: "+header)
		line := s.log.wantLines(t, 1)[0]
		if got := line["trace_id"]; got != want {
			t.Errorf("trace_id of %q: got %v, want %v", header, got, want)
		}
		var span any
		if want != nil {
			span = "00f067aa0ba902b7"
		}
		if got := line["span_id"]; got != span {
			t.Errorf("span_id of %q: got %v, want %v", header, got, span)
		}
	}
}

func TestEveryRequestIsCountedAndTimed(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := start(t, func(c *petstoretest.Config) { c.Metrics = registry })
	want := map[string]bool{
		"listPets 200": true, "getPet 404": true, "livez 200": true, "document 200": true, "docs 200": true, "unknown 404": true,
	}
	for _, target := range []string{petsPath, petsPath + "/1", "/livez", "/openapi.json", "/docs", "/" + http.MethodTrace} {
		s.get(t, target)
	}
	s.log.wantLines(t, 6) // which are written after the figures
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		for _, m := range f.Metric {
			switch f.GetName() {
			case "petstore_http_request_duration_seconds":
				got[m.Label[0].GetValue()+" "+m.Label[1].GetValue()] = m.GetHistogram().GetSampleCount() == 1 && m.GetHistogram().GetSampleSum() > 0
			case "petstore_deprecated_calls_total":
				if m.Label[1].GetValue() != "getPet" || !strings.HasPrefix(m.Label[0].GetValue(), "fixed-") || m.GetCounter().GetValue() != 1 {
					t.Errorf("deprecated calls: got %v, want one of getPet with its key", m)
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("requests: got %v, want %v", got, want)
	}
}
