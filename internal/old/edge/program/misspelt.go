package program

import (
	"slices"
	"strings"

	"example.com/petstore/internal/old/edge/nearest"
)

// Misspelt is a variable that stands for nothing, and the one that was meant, perhaps.
type Misspelt struct{ Name, Meant string }

// Misspelt returns the variables of environ, whose entries are NAME=VALUE as those of
// os.Environ, that begin as v's do and are almost one of known. It leaves out the
// names that Kubernetes injects beside a Service with the name of v; none of them can
// configure anything.
func (v Variables) Misspelt(environ, known []string) (all []Misspelt) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, v.prefix()) || slices.Contains(known, name) || v.Injected(name) {
			continue
		}
		if meant := almost(name, known); meant != "" {
			all = append(all, Misspelt{name, meant})
		}
	}
	return all
}

// almost returns the known name that differs from name by at most two letters, or "".
func almost(name string, known []string) string {
	if meant, letters := nearest.Name(name, known); letters <= 2 {
		return meant
	}
	return ""
}

// Injected reports whether Kubernetes gives that variable to the pods beside a Service
// with the name of v: NAME_SERVICE_HOST, NAME_SERVICE_PORT…, NAME_PORT….
func (v Variables) Injected(name string) bool {
	rest, found := strings.CutPrefix(name, v.prefix())
	return found && (rest == "SERVICE_HOST" || isOrBegins(rest, "SERVICE_PORT") || isOrBegins(rest, "PORT"))
}

func isOrBegins(name, word string) bool { return name == word || strings.HasPrefix(name, word+"_") }
