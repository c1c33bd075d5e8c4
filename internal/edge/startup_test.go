package edge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tests of this file look inside: at the router, and at the refusals of New.

// config returns a service that knows no key and whose generated code registers
// nothing.
func config(document []byte) Service {
	return Service{
		Name:         "test",
		Version:      "1",
		Document:     document,
		Operations:   registering(func(*router, string) {}),
		Authenticate: func(context.Context, string) (Identity, error) { return Identity{}, &InvalidKey{} },
		Ready:        func(context.Context) error { return nil },
	}
}

// registering returns operations that f registers, without the edge's own middleware.
func registering(f func(r *router, base string)) Operations {
	return Operations{func(r any, base string, _ func(call) call) error {
		f(r.(*router), base)
		return nil
	}}
}

func TestNoRouteIsRegisteredWithoutItsOperation(t *testing.T) {
	for name, register := range map[string]func(*router){
		"DELETE /v1/open":       func(r *router) { r.DELETE("/v1/open", nil) },
		"PUT /v1/open":          func(r *router) { r.PUT("/v1/open", nil) },
		"PATCH /v1/open":        func(r *router) { r.PATCH("/v1/open", nil) },
		"HEAD /v1/open":         func(r *router) { r.HEAD("/v1/open", nil) },
		"OPTIONS /v1/open":      func(r *router) { r.OPTIONS("/v1/open", nil) },
		"TRACE /v1/open":        func(r *router) { r.TRACE("/v1/open", nil) },
		"CONNECT /v1/open":      func(r *router) { r.CONNECT("/v1/open", nil) },
		"GET /v1/:id":           func(r *router) { r.GET("/v1/:id", nil) },
		"GET /backdoor":         func(r *router) { r.GET("/backdoor", nil) },
		"GET /v1/kept":          func(r *router) { r.GET("/v1/kept", nil) }, // a second time
		"/v1/open/all is below": func(r *router) { r.public("/v1/open/all", nil) },
		"/v1 is below":          func(r *router) { r.public("/v1", nil) },
	} {
		s := shelfService(func(context.Context, string) (any, error) { return nil, nil })
		whole := s.Operations.register
		s.Operations.register = func(r any, base string, around func(call) call) error {
			err := whole(r, base, around)
			register(r.(*router))
			return err
		}
		_, err := newEdge(s)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %s: got %v, want one error that names it", name, err)
		}
	}
}

func TestEveryOperationWithoutARouteIsRefused(t *testing.T) {
	_, err := newEdge(config([]byte(shelf)))
	for _, name := range []string{"GET /v1/open,", "POST /v1/books/search,", "DELETE /v1/books/:id/:part,"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without routes: got %v, want an error with %s", err, name)
		}
	}
}

func TestEveryRouteBelowTheBasePathNeedsAKeyUnlessItIsPublic(t *testing.T) {
	e := shelfOf(t, func(context.Context, string) (any, error) { return text("done"), nil }).(*edge)
	kept := []string{"GET /kept", "HEAD /kept", "DELETE /books/:id", "POST /books/search", "DELETE /books/:id/:part"}
	public := []string{"GET /open", "HEAD /open", "GET /books/:id", "HEAD /books/:id", "GET /books/:id/title", "HEAD /books/:id/title"}
	found := 0
	for _, route := range e.echo.Routes() {
		path, ok := strings.CutPrefix(route.Path, e.base)
		if !ok {
			continue
		}
		want := http.StatusMethodNotAllowed
		switch name := route.Method + " " + path; {
		case slices.Contains(kept, name):
			want = http.StatusUnauthorized
			found++
		case slices.Contains(public, name):
			want = http.StatusOK
			found++
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(route.Method, strings.NewReplacer(":id", "1", ":part", "2").Replace(route.Path), nil))
		if w.Code != want {
			t.Errorf("%s %s without a key: got %d, want %d", route.Method, route.Path, w.Code, want)
		}
	}
	if want := len(kept) + len(public); found != want {
		t.Errorf("routes of operations below %s: got %d, want %d", e.base, found, want)
	}
}

func TestAnExchangesContextEndsAtItsDeadlineWithItsParentAndWithTheExchange(t *testing.T) {
	begin := func(parent context.Context, started time.Time) *exchangeContext {
		c := new(exchangeContext)
		c.begin(parent, Identity{ID: "id"}, started)
		t.Cleanup(c.release)
		return c
	}
	late := begin(context.Background(), time.Now().Add(-requestTimeout))
	if err := late.Err(); err != context.DeadlineExceeded {
		t.Errorf("past the deadline: got %v, want DeadlineExceeded", err)
	}
	<-late.Done()
	if err := late.Err(); err != context.DeadlineExceeded {
		t.Errorf("past the deadline, waited for: got %v, want DeadlineExceeded", err)
	}

	parent, cancel := context.WithCancel(context.Background())
	child := begin(parent, time.Now())
	derived, stop := context.WithCancel(child)
	defer stop()
	if err := child.Err(); err != nil {
		t.Errorf("at the start: got %v, want nil", err)
	}
	cancel()
	<-child.Done()
	<-derived.Done()
	if child.Err() != context.Canceled || derived.Err() != context.Canceled {
		t.Errorf("after its parent: got %v and %v, want Canceled", child.Err(), derived.Err())
	}

	released := begin(context.Background(), time.Now())
	made, stop := context.WithCancel(released)
	defer stop()
	released.release()
	<-made.Done()
	if made.Err() != context.Canceled {
		t.Errorf("after the exchange: got %v, want Canceled", made.Err())
	}
}
