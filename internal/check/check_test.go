package check_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/gen"
	"example.com/petstore/internal/check"
)

// never is the one rule that a sound server gives nothing to judge by.
const never = "every 503 and 429 has Retry-After"

func TestThisServiceKeepsEveryRule(t *testing.T) {
	for _, n := range []int{0, 30} {
		report := run(t, serve(t, rightHandler(t, n)))
		for _, r := range report.Results {
			if r.Verdict != check.Holds && r.Title != never {
				t.Errorf("on %d animals, %s: got %s (%s got %s, want %s)", n, r.Title, r.Verdict, r.Why, r.Got, r.Want)
			}
		}
		if got := report.Count(check.Holds); got != len(check.Rules())-1 {
			t.Errorf("on %d animals: got %d rules that hold, want all but one of %d", n, got, len(check.Rules()))
		}
	}
}

func TestABaseAddressThatDoesNotEndInTheVersionFailsThatRuleAlone(t *testing.T) {
	right := rightHandler(t, 30)
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "/api", "/v1", 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, "/api", "/v1", 1)
		wrong(right, nil, func(x *exchange) {
			for _, name := range []string{"Location", "Link"} {
				x.header.Set(name, strings.Replace(x.header.Get(name), "/v1", "/api", 1))
			}
		}).ServeHTTP(w, r)
	}))
	cfg.Base.Path = "/api"
	if got := of(run(t, cfg), check.Fails); !slices.Equal(got, []string{"the base address ends in /v1"}) {
		t.Errorf("rules that do not hold: got %q, want that of the base address", got)
	}
}

func TestEveryRuleSaysWhereItStands(t *testing.T) {
	rfc := regexp.MustCompile(`^RFC \d{4}(?: §[1-9][0-9.]*)?$`)
	for _, r := range check.Rules() {
		part := regexp.MustCompile(`(?m)^ *(?:- name: |operationId: |### )?` + regexp.QuoteMeta(r.Source) + `:?$`)
		if r.Source != "decisions" && !rfc.MatchString(r.Source) && !part.Match(gen.Document) {
			t.Errorf("%s: got %q, want a part of openapi.yaml, decisions or an RFC", r.Title, r.Source)
		}
	}
}

func TestEveryRuleHasATitleOfItsOwnAndFitsATerminal(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range check.Rules() {
		if seen[r.Title] || r.Title == "" || r.Source == "" {
			t.Errorf("%s: %q from %q: got it twice or empty, want one of its own", r.Group, r.Title, r.Source)
		}
		seen[r.Title] = true
		if utf8.RuneCountInString(r.Title) > 64 || utf8.RuneCountInString(r.Source) > 24 {
			t.Errorf("%s: got %d and %d characters, want at most 64 and 24", r.Title, len(r.Title), len(r.Source))
		}
	}
	if len(seen) < 50 {
		t.Errorf("rules: got %d, want 50 or more", len(seen))
	}
}
