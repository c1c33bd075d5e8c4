package client

import (
	"strings"
	"testing"
)

func TestTheLinkToTheNextPageIsFoundAsRFC8288HasIt(t *testing.T) {
	const none = -1
	for _, k := range []struct {
		header string
		want   int64
	}{
		{``, none},
		{`</v1/pets?limit=20&after=120>; rel="next"`, 120},
		{`</v1/pets?after=120>;rel=next`, 120},
		{"\t<https://a.example/v1/pets?after=120> \t;\t rel \t=\t \"next\" ", 120},
		{`</v1/pets?after=120>; REL="NEXT"`, 120},
		{`</v1/pets?after=120>; rel="start next"`, 120},
		{`</v1/pets?after=120>; title="a, b; rel=\"prev\""; rel=next`, 120},
		{`</v1/pets?after=120>; title*=UTF-8''n%c3%a4chste; flag; rel=next; x=y`, 120},
		{`</v1/pets>; rel="prev", </v1/pets?after=120>; rel="next"`, 120},
		{`,, </docs>; rel="deprecation" ,, </v1/pets?after=7,8>; rel=x, </v1/pets?after=120>; rel="next"`, 120},
		{`</v1/pets?a=;,>; rel=x, </v1/pets?after=120>; rel=next`, 120},
		{`</v1/pets?after=1>; rel="next", </v1/pets?after=2>; rel="next"`, 1},
		// The first rel of a link counts (section 3.3).
		{`</v1/pets?after=120>; rel="prev"; rel="next"`, none},
		{`</v1/pets?after=120>; rel="next"; rel="prev"`, 120},
		// A link from somewhere else (section 3.2).
		{`</v1/pets?after=120>; rel="next"; anchor="/v1/cats"`, none},
		{`</v1/pets?after=120>`, none},
		{`</v1/pets?after=120>; rel`, none},
		{`</v1/pets?after=120>; rel="nextish"`, none},
		{`</v1/pets?after=120>; title="; rel=next"`, none},
		// What is malformed, and what follows it, is no link (appendix B.2).
		{`>`, none},
		{`<`, none},
		{`</v1/pets?after=120; rel="next"`, none},
		{`/v1/pets?after=120>; rel="next"`, none},
		{`nonsense, </v1/pets?after=120>; rel="next"`, none},
		{`</v1/pets?after=120>; rel="next`, 120},
		{`</v1/pets?after=120>; rel="next\`, none},
	} {
		got, err := nextPage([]string{k.header})
		switch {
		case err != nil:
			t.Errorf("%s: got error %v, want %d", k.header, err, k.want)
		case got == nil && k.want != none, got != nil && *got != k.want:
			t.Errorf("%s: got %v, want %d", k.header, got, k.want)
		}
	}
	if got, err := nextPage([]string{`</docs>; rel="deprecation"`, `</v1/pets?after=120>; rel="next"`}); err != nil || got == nil || *got != 120 {
		t.Errorf("two headers: got %v, error %v, want 120", got, err)
	}
}

// FuzzLink looks for a header that ends a client, and for a well-formed link
// that is lost behind or between others.
func FuzzLink(f *testing.F) {
	f.Add(`</v1/pets?after=1>; rel=x`, `a, b; "c"`)
	f.Add(`<>;;=,`, `\`)
	f.Fuzz(func(t *testing.T, header, title string) {
		_, _ = nextPage([]string{header}) // must only return
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(title) + `"`
		link := `</docs>; title=` + quoted + `, </v1/pets?after=120>; title=` + quoted + `; rel=next`
		if got, err := nextPage([]string{link}); err != nil || got == nil || *got != 120 {
			t.Errorf("%s: got %v, error %v, want 120", link, got, err)
		}
	})
}
