package main

import (
	"os"
	"strings"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/reason"
)

// The variables of fixed keys, which are no flags: a list of processes shows flags.
const (
	keysVariable     = "PETSTORE_API_KEYS"
	keysFileVariable = "PETSTORE_API_KEYS_FILE"
)

// fixedKeys returns the keys of PETSTORE_API_KEYS, between commas, or of the file that
// PETSTORE_API_KEYS_FILE names, one on each line. The inspection of a container shows
// the variable and not the file.
func fixedKeys(getenv func(string) string) ([]string, error) {
	list, path := getenv(keysVariable), getenv(keysFileVariable)
	switch {
	case list != "" && path != "":
		return nil, program.Misuse("both PETSTORE_API_KEYS and PETSTORE_API_KEYS_FILE are set; unset one of them")
	case path != "":
		return keysOfFile(path)
	case list == "":
		return nil, nil
	}
	fixed := strings.Split(list, ",")
	if err := keys.CheckFixed(fixed); err != nil {
		return nil, program.Misuse("%s: %w", keysVariable, err)
	}
	return fixed, nil
}

// keysOfFile returns the keys in a file. Its errors name the line, and never show it.
func keysOfFile(path string) (fixed []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, program.Misuse("%s: cannot read %s: %w", keysFileVariable, path, reason.Of(err))
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		found := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
		if err := keys.CheckFixed(found); err != nil {
			return nil, program.Misuse("%s: %s:%d: %w", keysFileVariable, path, number, err)
		}
		fixed = append(fixed, found...)
	}
	if len(fixed) == 0 {
		return nil, program.Misuse("%s: %s: no key is in the file; put one on each line", keysFileVariable, path)
	}
	return fixed, nil
}
