package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/golang-jwt/jwt/v5"

	"example.com/clinic/gen"
	"example.com/petstore/engine/contract"
)

// TestContract tests the service against its document, on each kind of store.
func TestContract(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(t)
	expired := jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}
	for kind, address := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(newHandler(t, openTest(t, address), p.tokens))
			defer server.Close()
			(&contract.Suite{
				Document: document, URL: server.URL + "/v1", Realm: "clinic", MaxBody: 64 << 10, Cases: cases,
				Key: p.sign(t, jwt.MapClaims{"scope": "a clinic:write"}), OtherKey: key, ReadOnlyKey: p.sign(t, nil),
				ExpiredKey: p.sign(t, expired), UnknownKey: newProvider(t).sign(t, nil),
				Unpromised: map[string]string{
					"transfer read back": "cases read both balances", "assess read back": "nothing is stored",
					"transfer values": "no balance is so large", "createVisit values": "all have the day of the example",
				},
			}).Test(t)
		})
	}
}

const (
	mergePatch = "\nContent-Type: application/merge-patch+json"
	png        = "\x89PNG\r\n\x1a\nx"
	richest    = 1_000_000_000
)

// cases sends requests in this order to an empty clinic.
func cases(t *testing.T, s *contract.Suite) {
	long, most, many := strings.Repeat("ä", 50), strings.Repeat("ä", 1000), strings.Repeat(`"lung",`, 19)
	var values []string
	for i := range 20 {
		values = append(values, fmt.Sprintf(`"%d":100.%d`, i, i%2))
	}
	for _, c := range []contract.Case{
		{Send: "GET /v1/clinic", Want: "200"},
		{Send: "GET /v1/patients", Want: "200", Says: `{"items":[]}`},
		{Send: "POST /v1/patients", Body: `{"name":"Rex","species":"dog","balance":500,"allergies":[]}`, Want: "201"},
		{Send: "POST /v1/patients", Body: `{"name":"Tom","species":"cat","allergies":["` + long + `"]}`, Want: "201"},
		{Send: "POST /v1/patients", Body: fmt.Sprintf(`{"name":"Kes","species":"bird","balance":%d}`, richest), Want: "201"},
		{Send: "POST /v1/patients", Body: `{"name":"Kim","species":"cat"}`, Want: "201"},
		{Send: "GET /v1/patients/999", Want: "404 not_found"},
		{Send: "GET /v1/patients?limit=2", Want: "200", Says: `"next":"2"`},
		{Send: "GET /v1/patients?limit=2&cursor=2", Want: "200", Says: "Kes"},
		{Send: "GET /v1/patients?limit=1&species=cat&species=bird", Want: "200", Says: `"next":"2"`},
		{Send: "GET /v1/patients?limit=100&species=cat&species=bird&species=dog", Want: "200"},
		// Two rows change, or none.
		{Send: "POST /v1/transfers", Body: `{"from":1,"to":2,"cents":1}`, Want: "204"},
		{Send: "POST /v1/transfers", Body: `{"from":1,"to":2,"cents":500}`, Want: "409 conflict"},
		{Send: "POST /v1/transfers", Body: fmt.Sprintf(`{"from":3,"to":1,"cents":%d}`, richest), Want: "409 conflict"},
		{Send: "POST /v1/transfers", Body: fmt.Sprintf(`{"from":3,"to":4,"cents":%d}`, richest), Want: "204"},
		{Send: "POST /v1/transfers", Body: `{"from":1,"to":999,"cents":1}`, Want: "404 not_found"},
		{Send: "GET /v1/patients/1", Want: "200", Says: `"balance":499`},
		{Send: "GET /v1/patients/2", Want: "200", Says: `"balance":1,`},
		// A nested resource, and changes of it.
		{Send: "POST /v1/patients/1/visits", Body: `{"day":"2026-11-21","reason":"cough","note":"n"}`, Want: "201"},
		{Send: "POST /v1/patients/1/visits", Body: fmt.Sprintf(`{"day":"2026-11-22","reason":%[1]q,"note":%[1]q}`, most), Want: "201"},
		{Send: "POST /v1/patients/2/visits", Body: `{"day":"2026-11-21","reason":"fever"}`, Want: "201"},
		{Send: "POST /v1/patients/1/visits", Body: `{"day":"2026-11-21","reason":"fever"}`, Want: "409 conflict", Says: "day"},
		{Send: "POST /v1/patients/999/visits", Body: `{"day":"2026-11-21","reason":"fever"}`, Want: "404 not_found"},
		{Send: "GET /v1/patients/5", Want: "404 not_found"}, // no visit adds a patient
		{Send: "GET /v1/patients/1/visits/1", Want: "200"},
		{Send: "GET /v1/patients/2/visits/3", Want: "200"},
		{Send: "GET /v1/patients/1/visits/999", Want: "404 not_found"},
		{Send: "PATCH /v1/patients/1/visits/1" + mergePatch, Body: `{"reason":"cold"}`, Want: "200"},
		{Send: "PATCH /v1/patients/1/visits/1" + mergePatch, Body: `{"note":null}`, Want: "200"},
		{Send: "PATCH /v1/patients/1/visits/1" + mergePatch, Body: `{"day":"2026-11-22"}`, Want: "409 conflict"},
		{Send: "PATCH /v1/patients/1/visits/1" + mergePatch, Body: `{"day":"2026-11-23"}`, Want: "200"},
		{Send: "PATCH /v1/patients/1/visits/999" + mergePatch, Body: `{"day":"2026-11-24"}`, Want: "404 not_found"},
		{Send: "DELETE /v1/patients/2", Want: "409 conflict", Says: "visits"},
		{Send: "DELETE /v1/patients/1/visits/999", Want: "404 not_found"},
		{Send: "DELETE /v1/patients/2/visits/3", Want: "204"},
		{Send: "DELETE /v1/patients/1/visits/2", Want: "204"},
		{Send: "GET /v1/patients/1/visits/1", Want: "200"},
		{Send: "DELETE /v1/patients/2", Want: "204"},
		{Send: "DELETE /v1/patients/2", Want: "410 gone"},
		{Send: "DELETE /v1/patients/999", Want: "404 not_found"},
		{Send: "GET /v1/patients/2", Want: "410 gone"},
		{Send: "POST /v1/patients/2/visits", Body: `{"day":"2026-11-23","reason":"fever"}`, Want: "410 gone"},
		{Send: "POST /v1/transfers", Body: `{"from":1,"to":2,"cents":1}`, Want: "410 gone"},
		// Schemas of other shapes.
		{
			Send: "POST /v1/assessments", Want: "200", Says: `["1","11","13","15","17","19","3","5","7","9"]`,
			Body: `{"kind":"blood","takenAt":"2026-11-21T10:00:00.25+02:00","values":{` + strings.Join(values, ",") + "}}",
		},
		{
			Send: "POST /v1/assessments", Want: "200", Says: long,
			Body: `{"kind":"scan","takenAt":"2026-11-21T10:00:00.25+02:00","regions":[` + many + `"` + long + `"]}`,
		},
		{Send: "POST /v1/assessments", Body: `{"kind":"blood","takenAt":"2026-11-21T10:00:00Z","values":{}}`, Want: "200", Says: `[]`},
		{Send: "POST /v1/assessments", Body: `{"kind":"scan","takenAt":"2026-11-21T10:00:00Z","regions":[]}`, Want: "200", Says: `[]`},
		{
			Send: "POST /v1/assessments", Want: "400 invalid_body", Says: "values.iron",
			Body: `{"kind":"blood","takenAt":"2026-11-21T10:00:00Z","values":{"iron":4.35}}`,
		},
		// Bodies that are no JSON.
		{Send: "GET /v1/board", Want: "404 not_found"},
		{Send: "PUT /v1/board\nContent-Type: text/plain", Body: strings.Repeat("ä", 200), Want: "204"},
		{Send: "PUT /v1/board\nContent-Type: text/plain", Body: strings.Repeat("ä", 201), Want: "400 invalid_body", Says: "200"},
		{Send: "PUT /v1/board\nContent-Type: text/plain", Body: "closed 🐕\n", Want: "204"},
		{Send: "PUT /v1/board\nContent-Type: image/png", Body: "text", Want: "400 invalid_body", Says: "picture"},
		{Send: "PUT /v1/board\nContent-Type: image/png", Body: png, Want: "204"},
	} {
		s.Try(t, c)
	}
	// Only one of eight at once may succeed, and no other patient's balance changes.
	s.Once(t, "POST /v1/patients/1/visits", 409, func() string { return `{"day":"2026-01-01","reason":"r"}` })
	s.Once(t, "POST /v1/transfers", 409, func() string { return `{"from":1,"to":3,"cents":499}` })
	s.Try(t, contract.Case{Send: "POST /v1/transfers", Body: `{"from":3,"to":3,"cents":499}`, Want: "204"})
	for id, balance := range map[int]int{1: 0, 3: 499, 4: richest} {
		s.Try(t, contract.Case{Send: fmt.Sprint("GET /v1/patients/", id), Want: "200", Says: fmt.Sprintf(`"balance":%d`, balance)})
	}
}
