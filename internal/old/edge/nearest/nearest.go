// Package nearest finds the known name that a misspelt one was meant to be.
package nearest

import "strings"

// longest is how many characters of a name are compared; no known name is longer.
const longest = 64

// Name returns the known name that is nearest to name, and its distance: the number of
// characters that differ in any case (Levenshtein). Of equally near names it returns the
// first, and "" where known is empty.
func Name(name string, known []string) (nearest string, distance int) {
	for i, k := range known {
		if d := between(name, k); i == 0 || d < distance {
			nearest, distance = k, d
		}
	}
	return nearest, distance
}

// between returns how many characters must be added, removed or replaced to make a of b.
func between(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	from, to := cut(a), cut(b)
	row := make([]int, len(to)+1) // distances between the characters of from so far and each beginning of to
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			replaced := diagonal
			if r != s {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, diagonal+1, replaced)
		}
	}
	return row[len(to)]
}

func cut(s string) []rune {
	runes := []rune(s[:min(len(s), 4*longest)])
	return runes[:min(len(runes), longest)]
}
