package program

import (
	"slices"
	"testing"
)

func TestAVariableThatIsNearlyOneIsFound(t *testing.T) {
	known := []string{"BOOKSHOP_RATE_LIMIT", "BOOKSHOP_STORE", "BOOKSHOP_PPROF", "BOOKSHOP_ADDR"}
	for name, want := range map[string]string{
		"BOOKSHOP_RATELIMIT":             "BOOKSHOP_RATE_LIMIT",
		"BOOKSHOP_RATE_LIMITS":           "BOOKSHOP_RATE_LIMIT",
		"BOOKSHOP_STROE":                 "BOOKSHOP_STORE",
		"BOOKSHOP_ADR":                   "BOOKSHOP_ADDR",
		"BOOKSHOP_RATE":                  "", // six letters away
		"BOOKSHOP_STORE":                 "",
		"BOOKSHOP_COLOUR":                "",
		"PETSHOP_STORE":                  "",
		"PATH":                           "",
		"BOOKSHOP_SERVICE_HOST":          "",
		"BOOKSHOP_SERVICE_PORT":          "",
		"BOOKSHOP_SERVICE_PORT_HTTP":     "",
		"BOOKSHOP_PORT":                  "",
		"BOOKSHOP_PORT_8080_TCP_ADDR":    "",
		"BOOKSHOP_PORTS":                 "",
		"BOOKSHOP_SERVICE_PORTS_ARE_OUT": "",
	} {
		var wanted []Misspelt
		if want != "" {
			wanted = []Misspelt{{name, want}}
		}
		if got := Variables("bookshop").Misspelt([]string{name + "=secret"}, known); !slices.Equal(got, wanted) {
			t.Errorf("%s: got %v, want %v", name, got, wanted)
		}
	}
}
