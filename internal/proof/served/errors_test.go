package served_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/petstoretest"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// everyEnd is a service whose operations on pets all end with the same function. It
// has no other operations.
type everyEnd struct {
	api.StrictServerInterface
	end func(ctx context.Context) error
}

func (s everyEnd) ListPets(ctx context.Context, _ api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	return nil, s.end(ctx)
}

func (s everyEnd) CreatePet(ctx context.Context, _ api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	return nil, s.end(ctx)
}

func (s everyEnd) GetPet(ctx context.Context, _ api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	return nil, s.end(ctx)
}

// startWith serves operations that all end with f.
func startWith(t *testing.T, f func(context.Context) error) *server {
	t.Helper()
	return start(t, func(c *petstoretest.Config) { c.Methods = everyEnd{end: f} })
}

// sendAll calls every operation on pets.
func (s *server) sendAll(t *testing.T) []response {
	t.Helper()
	return []response{s.get(t, petsPath), s.post(t, frank), s.get(t, petsPath+"/1")}
}

const inside = "pq: SELECT secret FROM pets failed at /var/lib/pets.go:17"

func TestEveryKindOfErrorHasItsStatus(t *testing.T) {
	wants := map[pets.Kind]struct {
		status  int
		code    string
		message string
	}{
		pets.Internal:    {500, "internal", "the service failed"},
		pets.Invalid:     {400, "invalid_body", "a word to the client"},
		pets.NotFound:    {404, "not_found", "a word to the client"},
		pets.Reused:      {422, "idempotency_key_reused", "a word to the client"},
		pets.Unavailable: {503, "unavailable", "try again later"},
	}
	for _, kind := range pets.Kinds() {
		want, ok := wants[kind]
		if !ok {
			t.Errorf("kind %v: got no row in this test, want one for every kind", kind)
			continue
		}
		message := "a word to the client"
		if kind == pets.Internal || kind == pets.Unavailable {
			message = inside
		}
		err := &pets.Error{Kind: kind, Message: message, Err: errors.New(inside)}
		for name, err := range map[string]error{"bare": err, "wrapped": fmt.Errorf("while listing: %w", err), "joined": errors.Join(io.EOF, err)} {
			t.Run(kind.String()+", "+name, func(t *testing.T) {
				s := startWith(t, func(context.Context) error { return err })
				if kind == pets.NotFound { // only getPet documents it
					s.get(t, petsPath+"/1").wants(t, want.status, want.code, want.message)
					return
				}
				if kind == pets.Invalid || kind == pets.Reused { // only createPet can meet it
					s.post(t, frank).wants(t, want.status, want.code, want.message)
					return
				}
				for _, resp := range s.sendAll(t) {
					resp.wants(t, want.status, want.code, want.message)
				}
			})
		}
	}
}

func TestAnErrorNobodyHasClassedIs500WithoutItsText(t *testing.T) {
	for name, err := range map[string]error{
		"plain":            errors.New(inside),
		"deadline":         context.DeadlineExceeded,
		"Echo's 418":       echo.NewHTTPError(418, inside),
		"Echo's 400":       echo.NewHTTPError(400, inside), // of the generated code, which binds what was checked
		"Echo's 403":       fmt.Errorf("%s: %w", inside, echo.NewHTTPError(403, inside)),
		"Echo's 500":       echo.NewHTTPError(500, inside).SetInternal(errors.New(inside)),
		"http's own abort": fmt.Errorf("%w", http.ErrBodyReadAfterClose),
	} {
		t.Run(name, func(t *testing.T) {
			s := startWith(t, func(context.Context) error { return err })
			for _, resp := range s.sendAll(t) {
				resp.wants(t, 500, "internal", "the service failed")
			}
			for _, line := range s.log.wantLines(t, 3) {
				if got, _ := line["error"].(string); line["level"] != "ERROR" || got == "" {
					t.Errorf("log: got %v, want an ERROR with the cause", line)
				}
			}
		})
	}
}

func TestAWrappedErrorOfEchoKeepsItsStatus(t *testing.T) {
	s := startWith(t, func(context.Context) error {
		return fmt.Errorf("%s: %w", inside, echo.NewHTTPError(http.StatusNotFound, inside))
	})
	s.get(t, petsPath+"/1").wants(t, 404, "not_found", "there is nothing at this path")
}

func TestNeitherAResponseNorAnErrorIs500(t *testing.T) {
	s := startWith(t, func(context.Context) error { return nil })
	for _, resp := range s.sendAll(t) {
		resp.wants(t, 500, "internal", "the service failed")
	}
}

func TestAPanicIs500AndOneLogLineWithTheStack(t *testing.T) {
	for name, value := range map[string]any{"a string": inside, "an error": errors.New(inside), "a value": 42} {
		t.Run(name, func(t *testing.T) {
			s := startWith(t, func(context.Context) error { panic(value) })
			s.get(t, petsPath).wants(t, 500, "internal", "the service failed")
			line := s.log.wantLines(t, 1)[0]
			got, _ := line["error"].(string)
			for _, part := range []string{"panic: " + fmt.Sprint(value), "goroutine", "errors_test.go"} {
				if !strings.Contains(got, part) {
					t.Errorf("log: got error %.200q, want %q in it", got, part)
				}
			}
			if line["status"] != 500.0 || line["level"] != "ERROR" {
				t.Errorf("log: got %v, want an ERROR of status 500", line)
			}
			s.get(t, "/livez").wants(t, 200, "", "")
		})
	}
}

func TestAnAbortedHandlerIsLeftToGo(t *testing.T) {
	s := startWith(t, func(context.Context) error { panic(http.ErrAbortHandler) })
	conn := s.dial(t)
	if _, err := io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n"+withKey+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("an aborted response: got %q (%v), want the end of the connection", got, err)
	}
}

// breaking is a response that fails while it is being written.
type breaking struct{ api.ListPetsResponseObject }

func (breaking) VisitListPetsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(200)
	_, _ = io.WriteString(w, `[{"id":1,`)
	panic(inside)
}

type breakingService struct{ api.StrictServerInterface }

func (breakingService) ListPets(context.Context, api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	return breaking{}, nil
}

func TestAPanicAmidAResponseLeavesItsLineToo(t *testing.T) {
	s := start(t, func(c *petstoretest.Config) { c.Methods = breakingService{} })
	conn := s.dial(t)
	if _, err := io.WriteString(conn, "GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n"+withKey+"\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Fatal(err)
	}
	line := s.log.wantLines(t, 1)[0]
	if got, _ := line["error"].(string); line["level"] != "ERROR" || !strings.Contains(got, "panic: "+inside) {
		t.Errorf("log: got %v, want an ERROR with the panic", line)
	}
}

func TestAStoreThatWaitsIsGivenADeadline(t *testing.T) {
	has := make(chan bool, 3)
	s := startWith(t, func(ctx context.Context) error {
		_, ok := ctx.Deadline()
		has <- ok
		return nil
	})
	for range s.sendAll(t) {
		if !<-has {
			t.Error("the context of an operation: got no deadline, want one")
		}
	}
}
