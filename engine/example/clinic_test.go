package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/edge"
)

const (
	key     = "clinic-key-0000001"
	readKey = "clinic-key-0000002"
)

// stores opens an empty store of each kind. Those that need other programs have files of their own.
var stores = map[string]func(t *testing.T) string{
	"sqlite": func(t *testing.T) string { return filepath.Join(t.TempDir(), "clinic.db") },
}

// onEach runs a test on each kind of stores.
func onEach(t *testing.T, test func(t *testing.T, s Store)) {
	for kind, address := range stores {
		t.Run(kind, func(t *testing.T) {
			test(t, openTest(t, address))
		})
	}
}

func openTest(t *testing.T, address func(t *testing.T) string) Store {
	t.Helper()
	s, err := openStore(t.Context(), address(t), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newHandler(t *testing.T, s Store, tokens *Tokens) http.Handler {
	t.Helper()
	fixed := map[string]edge.Caller{key: {ID: "fixed-1", MayWrite: true}, readKey: {ID: "fixed-2"}}
	h, err := NewHandler(s, fixed, tokens, edge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// do sends a request. The lines after the first are headers.
func do(h http.Handler, token, request, body string) *httptest.ResponseRecorder {
	lines := strings.Split(request, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	mergePatch = "\nContent-Type: application/merge-patch+json"
	png        = "\x89PNG\r\n\x1a\nx"
)

// TestOperations sends requests in this order to an empty clinic.
func TestOperations(t *testing.T) {
	onEach(t, func(t *testing.T, s Store) {
		h := newHandler(t, s, nil)
		for _, c := range []struct {
			request, body string
			want          int
			says          string // part of the body, or a header
		}{
			{"GET /v1/patients", "", 200, `{"items":[]}`},
			{"POST /v1/patients", `{"name":"Rex","species":"dog","balance":500,"allergies":[]}`, 201, `"allergies":[]`},
			{"POST /v1/patients", `{"name":"Tom","species":"cat","allergies":["pollen"]}`, 201, "Location: /v1/patients/2"},
			{"POST /v1/patients", `{"name":"Kes","species":"bird"}`, 201, `{"name":"Kes","balance":0,"id":3,"species":"bird"}`},
			{"GET /v1/patients/2", "", 200, `"allergies":["pollen"]`},
			// A list in an envelope, with a cursor and an array in the query.
			{"GET /v1/patients?limit=2", "", 200, `"next":"2"`},
			{"GET /v1/patients?limit=2&cursor=2", "", 200, `{"items":[{"name":"Kes","balance":0,"id":3,"species":"bird"}]}`},
			{"GET /v1/patients?limit=1&species=cat&species=bird", "", 200, `"next":"2"`},
			{"GET /v1/patients?cursor=?", "", 400, "cursor must be the next of a page"},
			// Two rows change, or none.
			{"POST /v1/transfers", `{"from":1,"to":2,"cents":200}`, 204, ""},
			{"POST /v1/transfers", `{"from":1,"to":2,"cents":301}`, 409, "the balance is too low"},
			{"POST /v1/transfers", `{"from":1,"to":9,"cents":1}`, 404, "no such patient"},
			{"GET /v1/patients/1", "", 200, `"balance":300`},
			{"GET /v1/patients/2", "", 200, `"balance":200`},
			// A nested resource, and changes of it.
			{"POST /v1/patients/1/visits", `{"day":"2026-11-21","reason":"cough","note":"n"}`, 201, `"note":"n"`},
			{"POST /v1/patients/1/visits", `{"day":"2026-11-22","reason":"fever"}`, 201, "Etag: "},
			{"POST /v1/patients/1/visits", `{"day":"2026-11-21","reason":"fever"}`, 409, "another visit on that day"},
			{"POST /v1/patients/2/visits", `{"day":"today","reason":"fever"}`, 400, "must be a day such as"},
			{"PATCH /v1/patients/1/visits/1" + mergePatch, `{"reason":"cold"}`, 200, `"reason":"cold","note":"n"`},
			{"PATCH /v1/patients/1/visits/1" + mergePatch, `{"note":null}`, 200, `"reason":"cold"}`},
			{"PATCH /v1/patients/1/visits/1" + mergePatch, `{"day":"2026-11-22"}`, 409, "another visit on that day"},
			{"PATCH /v1/patients/1/visits/1" + mergePatch + "\nIf-Match: \"old\"", `{"note":"m"}`, 412, "precondition_failed"},
			// Removals.
			{"DELETE /v1/patients/1", "", 409, "the patient has visits"},
			{"DELETE /v1/patients/1/visits/1", "", 204, ""},
			{"DELETE /v1/patients/1/visits/2", "", 204, ""},
			{"DELETE /v1/patients/1", "", 204, ""},
			{"DELETE /v1/patients/1", "", 410, `"code":"gone"`},
			{"GET /v1/patients/1", "", 410, `"code":"gone"`},
			{"POST /v1/patients/1/visits", `{"day":"2026-11-23","reason":"fever"}`, 410, "removed"},
			// Schemas of other shapes.
			{"POST /v1/assessments", `{"kind":"blood","takenAt":"2026-11-21T10:00:00+02:00","values":{"zinc":100.1}}`, 200, `["zinc"]`},
			{"POST /v1/assessments", `{"kind":"scan","takenAt":"2026-11-21T10:00:00Z","regions":["lung"]}`, 200, `["lung"]`},
			{"POST /v1/assessments", `{"kind":"blood","takenAt":"2026-11-21T10:00:00Z","values":{"iron":4.35}}`, 400, "values.iron"},
			// Bodies that are no JSON.
			{"GET /v1/board", "", 404, "no notice"},
			{"PUT /v1/board\nContent-Type: text/plain", "closed", 204, ""},
			{"GET /v1/board", "", 200, "closed"},
			{"PUT /v1/board\nContent-Type: text/plain", strings.Repeat("x", 201), 400, "200"},
			{"PUT /v1/board\nContent-Type: image/png", png, 204, ""},
			{"GET /v1/board", "", 200, "Content-Type: image/png"},
			{"PUT /v1/board\nContent-Type: image/png", "text", 400, "must be a picture"},
		} {
			w := do(h, key, c.request, c.body)
			var header strings.Builder
			_ = w.Header().Write(&header)
			if w.Code != c.want || !strings.Contains(header.String()+w.Body.String(), c.says) {
				t.Errorf("%s %s: got %d %s, want %d %s", c.request, c.body, w.Code, w.Body, c.want, c.says)
			}
		}
		made := do(h, key, "POST /v1/patients/2/visits", `{"day":"2026-11-21","reason":"cough"}`)
		visit := regexp.MustCompile(`"id":(\d+)`).FindStringSubmatch(made.Body.String())[1]
		change := fmt.Sprintf("PATCH /v1/patients/2/visits/%s%s\nIf-Match: %s", visit, mergePatch, made.Header().Get("Etag"))
		for _, want := range []int{200, 412} { // the first changes the ETag
			if w := do(h, key, change, `{"note":"n"}`); w.Code != want {
				t.Errorf("%s: got %d %s, want %d", change, w.Code, w.Body, want)
			}
		}
	})
}

// TestConcurrent checks that only one of eight visits on a day is stored, and that only one of
// eight transfers gets all of a balance.
func TestConcurrent(t *testing.T) {
	onEach(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		for range 2 {
			if _, err := s.CreatePatient(ctx, NewPatient{Name: "Rex", Species: "dog", Balance: 8}); err != nil {
				t.Fatal(err)
			}
		}
		visits, transfers := make([]error, 8), make([]error, 8)
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() { _, visits[i] = s.CreateVisit(ctx, 1, NewVisit{Day: "2026-11-21"}) })
			group.Go(func() { transfers[i] = s.Transfer(ctx, Transfer{1, 2, 8}) })
		}
		group.Wait()
		for want, got := range map[error][]error{ErrSecondVisit: visits, ErrBalance: transfers} {
			got = slices.DeleteFunc(got, func(err error) bool { return errors.Is(err, want) })
			if len(got) != 1 || got[0] != nil {
				t.Errorf("got %v beside %q, want one success", got, want)
			}
		}
		page, err := s.Patients(ctx, Query{Limit: 3})
		if err != nil || len(page) != 2 || page[0].Balance != 0 || page[1].Balance != 16 {
			t.Errorf("got %v, error %v, want balances of 0 and 16", page, err)
		}
	})
}

// TestServe starts the service on a Unix socket, and stops it.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	dir, served := t.TempDir(), make(chan error, 1)
	socket := filepath.Join(dir, "s")
	go func() {
		served <- serve(ctx, []string{"-addr", "unix:" + socket, "-store", filepath.Join(dir, "clinic.db")}, key)
	}()
	for len(served) == 0 {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			break
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := serve(t.Context(), nil, "short"); err == nil {
		t.Error("a short key: got no error")
	}
}
