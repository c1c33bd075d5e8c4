package check_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/internal/check"
)

func printed(t *testing.T, options check.TableOptions) string {
	t.Helper()
	var out bytes.Buffer
	base, err := check.ParseBase("http://127.0.0.1:8080/v1")
	if err != nil {
		t.Fatal(err)
	}
	table := check.NewTable(&out, check.Config{Base: base}, options)
	results := oneOfEach()
	for _, r := range results {
		table.Rule(r)
	}
	if err := table.End(check.Report{Results: results, Requests: 7}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func oneOfEach() []check.Result {
	return []check.Result{
		{Group: "Listing", Title: "holds", Source: "limit", Verdict: check.Holds},
		{Group: "Listing", Title: "fails", Source: "limit", Verdict: check.Fails, Got: "200", Want: "400", Curl: "curl x"},
		{Group: "Listing", Title: "one", Verdict: check.Unchecked, Why: "needs --write"},
		{Group: "Paging", Title: "two", Verdict: check.Unchecked, Why: "needs --write"},
		{Group: "Paging", Title: "three", Verdict: check.Unchecked, Why: "needs --write"},
		{Group: "Paging", Title: "four", Verdict: check.Unchecked, Why: "needs --write"},
	}
}

func TestTheTableCanBeReadWithoutColour(t *testing.T) {
	got := strings.Split(printed(t, check.TableOptions{}), "\n")
	for i, line := range got {
		got[i] = strings.Join(strings.Fields(line), " ")
	}
	want := `Checking http://127.0.0.1:8080/v1, reading only; --write checks the rest.

Listing
ok holds limit
FAIL fails limit
got 200
want 400
try curl x
- one needs --write

Paging
- 3 rules not checked needs --write

1 hold, 1 do not, 4 not checked; 7 requests.
`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("table: got\n%s\nwant\n%s", text, want)
	}
}

func TestANarrowTableHasTheRightColumnBelow(t *testing.T) {
	got := printed(t, check.TableOptions{Columns: 60})
	want := `
Listing
  ok    holds
  FAIL  fails
        see   limit
        got   200
        want  400
        try   curl x
  -     one
        why   needs --write

Paging
  -     3 rules not checked
        why   needs --write

`
	if !strings.Contains(got, want) {
		t.Errorf("in 60 columns: got\n%s\nwant\n%s", got, want)
	}
	for _, r := range check.Rules() {
		if n := utf8.RuneCountInString("  ok    " + r.Title); n > 60 {
			t.Errorf("%s: got a row of %d characters, want 60 at most", r.Title, n)
		}
	}
}

func TestTheTableIsColouredOnRequest(t *testing.T) {
	for _, want := range []bool{true, false} {
		if got := strings.Contains(printed(t, check.TableOptions{Colours: want}), "\x1b["); got != want {
			t.Errorf("coloured: got %t, want %t", got, want)
		}
	}
}

func TestATableOfFailuresHasNoOtherRules(t *testing.T) {
	got := printed(t, check.TableOptions{Failures: true})
	if !strings.Contains(got, "FAIL  fails") || strings.Contains(got, "ok") || strings.Contains(got, "needs --write") {
		t.Errorf("got\n%s\nwant only the rule that fails", got)
	}
}
