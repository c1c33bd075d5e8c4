// Package animals holds real animals, for the sandbox, tests and examples. README.md
// names their source.
package animals

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/files"
)

// CSV is the file of all animals, in the form that petstore import reads.
//
//go:embed pets.csv
var CSV string

// First returns the first n animals, always the same and in the same order. body says
// how the service reads them.
func First(n int, body files.Body) iter.Seq2[pets.NewPet, error] {
	return func(yield func(pets.NewPet, error) bool) {
		read := 0
		for row, err := range (files.Reading{Format: files.CSV, Body: body}).Rows(strings.NewReader(CSV)) {
			if err == nil && row.Err != nil {
				err = fmt.Errorf("animals, line %d: %w", row.Line, row.Err)
			}
			if read++; read > n || !yield(row.Pet, err) {
				return
			}
		}
	}
}
