package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/limit"
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
// of no length.
func startFull(t *testing.T, change ...func(*edge.Config)) (s *server, release func()) {
	t.Helper()
	b := blockingService{begun: make(chan struct{}, 1), release: make(chan struct{})}
	s = start(t, append(change, func(c *edge.Config) {
		b.StrictServerInterface = c.Service
		c.Service = b
		c.Limits.Calls = limit.NewCalls(1, 0)
	})...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.get(t, petsPath).wants(t, 200, "", "")
	}()
	<-b.begun
	return s, func() { close(b.release); <-done }
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
	limited := start(t, func(c *edge.Config) { c.Limits.Rates = limit.NewRates(0.1) })
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
	calls := limit.NewCalls(1, 0)
	for _, service := range []api.StrictServerInterface{nil, panickingService{}} {
		s := start(t, func(c *edge.Config) {
			c.Limits.Calls = calls
			if service != nil {
				c.Service = service
			}
		})
		for range 3 {
			if resp := s.get(t, petsPath+"/1"); resp.StatusCode == 503 {
				t.Errorf("got %d %s, want the place free", resp.StatusCode, resp.body)
			}
		}
		if got := calls.Stats().UnderWay; got != 0 {
			t.Errorf("calls under way in the end: got %d, want none", got)
		}
	}
}

type panickingService struct{ api.StrictServerInterface }

func TestAKeyBeyondItsRateHears429AndWhenToComeAgain(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *edge.Config) { c.Limits.Rates = limit.NewRates(0.1) })
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
	budget := limit.NewBudget(1 << 20)
	s := start(t, func(c *edge.Config) { c.Limits.Responses = budget })
	for range 10 {
		if _, err := s.store.CreatePet(t.Context(), pets.NewPet{Name: strings.Repeat("x", 60<<10), Status: pets.Available}); err != nil {
			t.Fatal(err)
		}
	}
	s.get(t, petsPath+"?limit=4").wants(t, 200, "", "")
	s.get(t, petsPath+"?limit=5").wants(t, 503, "unavailable", "")
	if err := budget.Take("another", 200<<10); err != nil {
		t.Fatal(err)
	}
	s.get(t, petsPath+"?limit=4").wants(t, 200, "", "")
	for end := time.Now().Add(patience); budget.Stats().Held != 200<<10; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("held after all responses: got %d bytes, want those of another alone", budget.Stats().Held)
		}
	}
}

func TestAClientThatLeavesIsNoErrorOfTheService(t *testing.T) {
	t.Parallel()
	b := waitingService{begun: make(chan struct{}, 1)}
	s := start(t, func(c *edge.Config) { c.Service = b })
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
	sandbox := start(t, func(c *edge.Config) { c.LocalOrigins, c.Base = true, "https://pets.example.com/v1" })
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
		if got := s.log.wantLines(t, 1)[0]["trace_id"]; got != want {
			t.Errorf("trace_id of %q: got %v, want %v", header, got, want)
		}
	}
}

// observations collects the observations of an edge.
type observations struct {
	begun int
	ended chan edge.Observation
}

func (o *observations) Begin()                   { o.begun++ }
func (o *observations) End(one edge.Observation) { o.ended <- one }

func TestEveryRequestIsObserved(t *testing.T) {
	t.Parallel()
	o := &observations{ended: make(chan edge.Observation, 1)}
	s := start(t, func(c *edge.Config) { c.Observer = o })
	for target, want := range map[string]edge.Observation{
		petsPath:               {Operation: "listPets", Status: 200},
		petsPath + "/1":        {Operation: "getPet", Status: 404, Deprecated: true},
		"/livez":               {Operation: "livez", Status: 200},
		"/openapi.json":        {Operation: "document", Status: 200},
		"/docs":                {Operation: "docs", Status: 200},
		"/" + http.MethodTrace: {Operation: "unknown", Status: 404},
	} {
		s.get(t, target)
		got := <-o.ended
		if strings.HasPrefix(target, petsPath) != (got.KeyID != "") || got.Duration <= 0 {
			t.Errorf("%s: got key %q and duration %v, want the key of operations and a duration", target, got.KeyID, got.Duration)
		}
		got.KeyID, got.Duration = "", 0
		if got != want {
			t.Errorf("%s: got %+v, want %+v", target, got, want)
		}
	}
}
