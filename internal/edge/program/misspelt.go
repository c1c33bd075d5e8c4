package program

import (
	"slices"
	"strings"
)

// Misspelt is a variable that stands for nothing, and the one that was meant, perhaps.
type Misspelt struct{ Name, Meant string }

// Misspelt returns the variables of environ, whose entries are NAME=VALUE as those of
// os.Environ, that begin as v's do and are at most two letters from one of known. It
// leaves out the names that Kubernetes injects beside a Service with the name of v;
// none of them can configure anything.
func (v Variables) Misspelt(environ, known []string) (all []Misspelt) {
	prefix := strings.ToUpper(string(v)) + "_"
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) || v.Injected(name) {
			continue
		}
		best, meant := 3, ""
		for _, k := range known {
			if d := distance(name, k); d < best {
				best, meant = d, k
			}
		}
		if meant != "" {
			all = append(all, Misspelt{name, meant})
		}
	}
	return all
}

// Injected reports whether Kubernetes gives that variable to the pods beside a Service
// with the name of v: NAME_SERVICE_HOST, NAME_SERVICE_PORT…, NAME_PORT….
func (v Variables) Injected(name string) bool {
	rest, found := strings.CutPrefix(name, strings.ToUpper(string(v))+"_")
	return found && (rest == "SERVICE_HOST" || isOrBegins(rest, "SERVICE_PORT") || isOrBegins(rest, "PORT"))
}

func isOrBegins(name, word string) bool { return name == word || strings.HasPrefix(name, word+"_") }

// distance returns how many letters must be added, removed or replaced to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
