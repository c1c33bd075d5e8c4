package edge

import (
	"net/http"
	"testing"
)

func TestTheFirstHandlingOfAllLinesCounts(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"handling=strict"}, true},
		{[]string{"Handling=strict"}, true},
		{[]string{`HANDLING = "strict"`}, true},
		{[]string{"handling=strict; why=not"}, true},
		{[]string{"handling=lenient"}, false},
		{[]string{"handling"}, false},
		{[]string{"handling=strictly"}, false},
		{[]string{"respond-async, wait=100, handling=strict"}, true},
		{[]string{"respond-async", "handling=strict"}, true},
		{[]string{"handling=lenient, handling=strict"}, false},
		{[]string{"handling=strict", "handling=lenient"}, true},
		{[]string{"handling=, handling=strict"}, true},
		{[]string{",,;=, ,handling=strict"}, true},
		{[]string{`x="a, handling=strict"`}, false},
		{[]string{`x="a\\", handling=strict`}, true},
		{[]string{`x="never ends, handling=strict`}, false},
		{[]string{"handling=strict x"}, false},
		{[]string{"return=minimal;handling=strict"}, false},
	} {
		h := http.Header{}
		if c.lines != nil {
			h["Prefer"] = c.lines
		}
		if got := prefersStrict(h); got != c.want {
			t.Errorf("%q: got strict %t, want %t", c.lines, got, c.want)
		}
		if got := h.Get("Prefer"); c.want && got != "handling=strict" || !c.want && h["Prefer"] != nil {
			t.Errorf("%q: got %q left for the method, want handling=strict or none", c.lines, h["Prefer"])
		}
	}
}

// A strict client is told of a typo before other faults: the search for one must take
// values that no member of a union has.
func TestAStrictClientHearsThatADiscriminatorNamesNoMember(t *testing.T) {
	r := newRecorder(t)
	for body, message := range map[string]string{
		`{"kind":"cow"}`: "kind must be one of cat, dog",
		`{"kind":7}`:     "kind must be one of cat, dog",
		`{"lives":9}`:    "kind is required",
		`[{"kind":1}]`:   "the body must be an object",
		`{"kind":"dog","bark":true,"friend":{"kind":"cow"}}`: "friend.kind must be one of cat, dog",
	} {
		r.wantRefusal(t, codeInvalidBody, message, "POST /one", body, "Prefer: handling=strict")
	}
}

func TestAStrictClientHearsWhereATypoIs(t *testing.T) {
	r := newRecorder(t)
	r.wantRefusal(t, codeInvalidBody, "[0].part.parts[1].nmae is an unknown property; the nearest known is name",
		"POST /store/orders", `[{"part":{"parts":[{"name":"a"},{"nmae":"b"}]}}]`, "Prefer: handling=strict")
}
