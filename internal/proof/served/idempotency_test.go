package served_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/petstoretest"
)

// idempotentCreate sends a pet with these Idempotency-Key headers.
type idempotentCreate func(token, body string, keyring ...string) *httptest.ResponseRecorder

func newIdempotentCreate(t *testing.T) idempotentCreate {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	h := petstoretest.Must(t, s, key, func(c *petstoretest.Config) {
		c.Authenticate = func(_ context.Context, token string) (edge.Identity, error) {
			return edge.Identity{ID: "id-of-" + token}, nil
		}
	})
	return func(token, body string, keyring ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/v1/pets", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		if keyring != nil {
			r.Header["Idempotency-Key"] = keyring
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

const rexBody = `{"name":"Rex","categoryId":1}`

func TestQuotedAndBareAreTheSameIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", 255)
	for quoted, bare := range map[string]string{
		`"k1"`:            `k1`,
		`"a b"`:           `a b`,
		`"a\\b"`:          `a\b`,
		`"%41+;=?"`:       `%41+;=?`,
		`"` + long + `"`:  long,
		`"8e03978e-40d5"`: `8e03978e-40d5`,
	} {
		create := newIdempotentCreate(t)
		first := create("mine", rexBody, quoted)
		again := create("mine", `{"categoryId":1,"status":"available","name":"Rex"}`, bare)
		if first.Code != http.StatusCreated || again.Code != http.StatusCreated || first.Body.String() != again.Body.String() {
			t.Errorf("%.40s and %.40s: got %d %s and %d %s, want the same pet twice", quoted, bare, first.Code, first.Body, again.Code, again.Body)
		}
		if got, want := again.Header().Get("Location"), first.Header().Get("Location"); got == "" || got != want {
			t.Errorf("%.40s: got Location %q, want %q", bare, got, want)
		}
	}
}

func TestEscapesOfAQuotedIdempotencyKeyAreReadOnce(t *testing.T) {
	create := newIdempotentCreate(t)
	seen := map[string]string{}
	for _, key := range []string{`"a\\"`, `"a\\\\"`, `"a\""`, `"a\\\""`, `"a"`} {
		w := create("mine", rexBody, key)
		if before, ok := seen[w.Body.String()]; ok || w.Code != http.StatusCreated {
			t.Errorf("%s: got %d and the pet of %s, want a pet of its own", key, w.Code, before)
		}
		seen[w.Body.String()] = key
	}
}

func TestAnIdempotencyKeyBelongsToItsAPIKey(t *testing.T) {
	create := newIdempotentCreate(t)
	mine, yours := create("mine", rexBody, "k1"), create("yours", rexBody, "k1")
	if mine.Code != http.StatusCreated || yours.Code != http.StatusCreated || mine.Body.String() == yours.Body.String() {
		t.Errorf("got %d %s and %d %s, want two pets", mine.Code, mine.Body, yours.Code, yours.Body)
	}
}

func TestAnIdempotencyKeyUsedForAnotherPetIs422(t *testing.T) {
	create := newIdempotentCreate(t)
	create("mine", rexBody, "k1")
	for _, other := range []string{
		`{"name":"rex","categoryId":1}`,
		`{"name":"Rex","categoryId":2}`,
		`{"name":"Rex","categoryId":1,"status":"sold"}`,
	} {
		wantRefusal(t, create("mine", other, `"k1"`), http.StatusUnprocessableEntity, "idempotency_key_reused",
			"this Idempotency-Key was used for another animal; send a new key for a new animal")
	}
}

func TestAMalformedIdempotencyKeyIs400(t *testing.T) {
	const rule = "Idempotency-Key must be 1 to 255 printable ASCII characters, in double quotes or bare without commas and double quotes"
	create := newIdempotentCreate(t)
	for _, c := range []struct {
		message string
		keys    []string
	}{
		{"Idempotency-Key must not be empty", []string{""}},
		{"Idempotency-Key must be given only once", []string{"k1", "k1"}},
		{"Idempotency-Key must be given only once", []string{"", ""}},
		{rule, []string{`""`}},
		{rule, []string{`k1, k2`}}, // two headers that a proxy has joined
		{rule, []string{`"k1", "k2"`}},
		{rule, []string{`"k1`}},
		{rule, []string{`k1"`}},
		{rule, []string{`"k1";a=b`}},
		{rule, []string{`"a\b"`}},
		{rule, []string{`"a\"`}},
		{rule, []string{"a\tb"}},
		{rule, []string{"é"}},
		{rule, []string{"\x7f"}},
		{rule, []string{strings.Repeat("k", 256)}},
		{rule, []string{`"` + strings.Repeat("k", 256) + `"`}},
	} {
		wantRefusal(t, create("mine", rexBody, c.keys...), http.StatusBadRequest, "invalid_request", c.message)
	}
	if w := create("mine", rexBody); w.Code != http.StatusCreated || w.Header().Get("Location") != "/v1/pets/1" {
		t.Errorf("without a key: got %d %s, want the first pet", w.Code, w.Body)
	}
}

func wantRefusal(t *testing.T, w *httptest.ResponseRecorder, status int, code, message string) {
	t.Helper()
	var got api.Error
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Errorf("got body %s, want an Error", w.Body)
	}
	if want := (api.Error{Code: code, Message: message, Status: status}); w.Code != status || got != want {
		t.Errorf("got %d %+v, want %d %+v", w.Code, got, status, want)
	}
}
