package program

import (
	"slices"
	"testing"
)

func TestAVariableThatIsNearlyOneIsFound(t *testing.T) {
	known := []string{"PETSTORE_RATE_LIMIT", "PETSTORE_STORE", "PETSTORE_PPROF", "PETSTORE_ADDR"}
	for name, want := range map[string]string{
		"PETSTORE_RATELIMIT":             "PETSTORE_RATE_LIMIT",
		"PETSTORE_RATE_LIMITS":           "PETSTORE_RATE_LIMIT",
		"PETSTORE_STROE":                 "PETSTORE_STORE",
		"PETSTORE_ADR":                   "PETSTORE_ADDR",
		"PETSTORE_RATE":                  "", // six letters away
		"PETSTORE_STORE":                 "",
		"PETSTORE_COLOUR":                "",
		"PETSHOP_STORE":                  "",
		"PATH":                           "",
		"PETSTORE_SERVICE_HOST":          "",
		"PETSTORE_SERVICE_PORT":          "",
		"PETSTORE_SERVICE_PORT_HTTP":     "",
		"PETSTORE_PORT":                  "",
		"PETSTORE_PORT_8080_TCP_ADDR":    "",
		"PETSTORE_PORTS":                 "",
		"PETSTORE_SERVICE_PORTS_ARE_OUT": "",
	} {
		var wanted []Misspelt
		if want != "" {
			wanted = []Misspelt{{name, want}}
		}
		if got := Variables("petstore").Misspelt([]string{name + "=secret"}, known); !slices.Equal(got, wanted) {
			t.Errorf("%s: got %v, want %v", name, got, wanted)
		}
	}
}
