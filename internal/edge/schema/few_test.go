package schema

import (
	"math"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestAVerdictKnownBeforehandIsTheValidators holds the texts that were checked
// when the service started to what the validator says of them now.
func TestAVerdictKnownBeforehandIsTheValidators(t *testing.T) {
	limit := openapi3.NewInt64Schema().WithMin(-2).WithMax(100)
	limit.MultipleOf = new(float64(2))
	status := openapi3.NewStringSchema().WithEnum("sold", "pending").WithMaxLength(4)
	wide := openapi3.NewInt64Schema().WithMin(0).WithMax(maxFew + 1)
	last := openapi3.NewInt64Schema().WithMin(math.MaxInt64 - 10).WithMax(math.MaxInt64)
	for name, c := range map[string]struct {
		schema *openapi3.Schema
		known  int
	}{
		"a range":                     {limit, 52},
		"an enumeration":              {status, 1},
		"a range that is too wide":    {wide, 0},
		"a range at the end of int64": {last, 0},
		"any text":                    {openapi3.NewStringSchema(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(c.schema.NewRef())
			if err != nil {
				t.Fatal(err)
			}
			if got := len(s.valid); got != c.known {
				t.Errorf("texts known to be valid: got %d, want %d", got, c.known)
			}
			texts := []string{"", "sold", "pending", "Sold", "+2", "02", "2.0", "1e2", " 2", "-0", "9223372036854775808"}
			for n := -10; n < 110; n++ {
				texts = append(texts, strconv.Itoa(n))
			}
			for _, text := range texts {
				want := (&Schema{document: s.document, options: s.options}).CheckText(text)
				if got := s.CheckText(text); (got == nil) != (want == nil) {
					t.Errorf("%q: got %v, want %v", text, got, want)
				}
			}
		})
	}
}
