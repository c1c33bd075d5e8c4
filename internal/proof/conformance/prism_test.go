//go:build thirdparty

package conformance

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// prism returns the address of a Prism that stands before the service at base.
// A strict one refuses requests that the document does not allow.
func prism(t *testing.T, base string, strict bool) string {
	t.Helper()
	cmd := exec.Command(installed(t, "node_modules/.bin/prism"), "proxy", document, base, "--errors", "--port", "0",
		fmt.Sprintf("--validate-request=%t", strict))
	return strings.TrimPrefix(start(t, cmd, `listening on http://127\.0\.0\.1:[0-9]+`), "listening on ")
}

// exchange is a request and the status of its response.
type exchange struct {
	method, target, body string
	headers              []string // name and value in turn
	want                 int
}

// send sends e and returns its response, unless Prism has objections to it.
func (e exchange) send(t *testing.T, address string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequest(e.method, address+e.target, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if e.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(e.headers); i += 2 {
		r.Header.Set(e.headers[i], e.headers[i+1])
	}
	response, err := (&http.Client{Timeout: giveUp}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	violations := response.Header.Get("sl-violations")
	switch {
	case violations != "" || response.Header.Get("Content-Type") == "application/problem+json":
		return response, string(body), fmt.Errorf("Prism objects: %s %s", violations, body)
	case response.StatusCode != e.want:
		return response, string(body), fmt.Errorf("status: got %d %s, want %d", response.StatusCode, body, e.want)
	}
	return response, string(body), nil
}

func post(body string, want int, headers ...string) exchange {
	return exchange{http.MethodPost, "/pets", body, headers, want}
}

func get(target string, want int, headers ...string) exchange {
	return exchange{http.MethodGet, target, "", headers, want}
}

// wellFormed is a conversation of which every request is one of the document.
// JavaScript reads numbers as floating point, so none is beyond 2^53.
var wellFormed = []exchange{
	get("/pets", 200),
	post(`{"name":"Frank","categoryId":1,"status":"sold"}`, 201),
	post(`{"name":"Kitty","categoryId":2}`, 201),
	post(`{"name":"","categoryId":0,"status":"pending"}`, 201),
	post(`{"name":" 名前 \ud83d\udc31 \t","categoryId":-9007199254740991,"colour":"red"}`, 201),
	post(`{"name":"Max","categoryId":9007199254740991}`, 201, "Idempotency-Key", `"k1"`),
	post(`{"name":"Max","categoryId":9007199254740991}`, 201, "Idempotency-Key", `k1`),
	post(`{"name":"Moritz","categoryId":1}`, 422, "Idempotency-Key", `"k1"`),
	post(`{"name":"Max","categoryId":1}`, 401, "Authorization", "Bearer another"),
	get("/pets?status=available", 200),
	get("/pets?status=pending&limit=100&after=1", 200),
	get("/pets?limit=1&after=9007199254740991", 200),
	get("/pets?colour=red", 200, "X-Request-Id", "my-own"),
	get("/pets", 401, "Authorization", "Bearer another"),
	get("/pets/1", 200),
	get("/pets/5", 200, "Accept", "application/json"),
	get("/pets/99", 404),
	get("/pets/0", 404),
	get("/pets/-1", 404),
	get("/pets/1", 401, "Authorization", "Bearer another"),
}

// malformed are requests that a strict Prism would not let through: what is
// judged is the response to each. None is without a bearer token, which no
// Prism lets through.
var malformed = []exchange{
	post(`{"name":"Frank"}`, 400),
	post(`{"name":"Frank","categoryId":"1"}`, 400),
	post(`{"name":"Frank","categoryId":1,"status":"lost"}`, 400),
	post(`{"name":null,"categoryId":1}`, 400),
	post(`[]`, 400),
	post(`{"name":"Frank","categoryId":1}`, 400, "Idempotency-Key", `"`),
	post(`{"name":"Frank","categoryId":1}`, 415, "Content-Type", "text/plain"),
	post(`{"name":"`+strings.Repeat("x", 65536)+`","categoryId":1}`, 413),
	get("/pets?limit=0", 400),
	get("/pets?limit=101", 400),
	get("/pets?limit=two", 400),
	get("/pets?status=lost", 400),
	get("/pets?after=-1", 400),
	get("/pets/one", 400),
}

func TestPrismFindsNothing(t *testing.T) {
	t.Parallel()
	service := serve(t, "memory:")
	strict, lenient := prism(t, service, true), prism(t, service, false)
	count := 0
	for address, conversation := range map[string][]exchange{strict: wellFormed, lenient: malformed} {
		for _, e := range conversation {
			if _, _, err := e.send(t, address); err != nil {
				t.Errorf("%s %s %.80s: %v", e.method, e.target, e.body, err)
			}
			count++
		}
	}
	fmt.Printf("Prism: %d exchanges and %d pages\n", count, walk(t, strict))
}

// walk follows the links of a list through Prism to its end and returns the
// number of pages.
func walk(t *testing.T, address string) (pages int) {
	t.Helper()
	for i := range 25 {
		e := post(fmt.Sprintf(`{"name":"walked %d","categoryId":1,"status":"sold"}`, i), 201)
		if _, _, err := e.send(t, address); err != nil {
			t.Fatal(err)
		}
	}
	for next := "/pets?limit=4&status=sold"; next != ""; pages++ {
		response, _, err := get(next, 200).send(t, address)
		if err != nil {
			t.Fatalf("page %s: %v", next, err)
		}
		link, _, _ := strings.Cut(response.Header.Get("Link"), ">")
		next = strings.TrimPrefix(link, "</v1")
	}
	if pages != 7 {
		t.Errorf("pages of 26 sold animals, 4 a page: got %d, want 7", pages)
	}
	return pages
}

// TestPrismFindsAFaultyService shows that its checks are in force.
func TestPrismFindsAFaultyService(t *testing.T) {
	t.Parallel()
	service := falsify(t, serve(t, "memory:"), func(*http.Request) {}, func(r *http.Response) {
		if r.StatusCode == http.StatusCreated {
			say(r, `{"id":"1","name":"Frank","categoryId":1}`)
		}
		if r.StatusCode == http.StatusNotFound {
			r.Header.Set("X-Request-Id", "not one, for it has spaces")
		}
	})
	address := prism(t, service, true)
	for _, e := range []exchange{post(`{"name":"Frank","categoryId":1}`, 201), get("/pets/99", 404), get("/pets?limit=0", 200)} {
		if _, body, err := e.send(t, address); err == nil || !strings.Contains(err.Error(), "Prism objects") {
			t.Errorf("%s %s: got %s (%v), want Prism to object", e.method, e.target, body, err)
		}
	}
}
