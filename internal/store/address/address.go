// Package address lists the kinds of stores and opens them by their addresses.
package address

import (
	"errors"
	"strings"
	"unicode"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// Kinds are the kinds of stores that this program knows. The first has the default address.
var Kinds = []store.Kind{
	sqlite.Kind,
	postgres.Kind,
	memory.Kind,
}

// Forms returns the forms of an address, with "or" between them.
func Forms() string {
	var forms []string
	for _, k := range Kinds {
		forms = append(forms, k.Form)
	}
	return strings.Join(forms, " or ")
}

// Address is the address of a store. A pointer to it is the value of a flag. The functions
// of its Kind take its Text.
type Address struct {
	store.Kind
	Text string
}

// Set sets a to the address in text, which must have one of the forms. Its errors do not
// contain the text, which may hold a password.
func (a *Address) Set(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("the address of a store has a control character, such as a line feed at its end")
	}
	for _, k := range Kinds {
		if k.Matches(text) {
			*a = Address{k, text}
			return nil
		}
	}
	return errors.New("unknown store: use " + Forms())
}

// String returns the address without its password.
func (a *Address) String() string {
	if a.Redact == nil {
		return a.Text
	}
	return a.Redact(a.Text)
}

// Type names the values of a flag.
func (a *Address) Type() string { return "address" }

// Path returns the path of the file that is the store, or "" if it is none.
func (a *Address) Path() string {
	if a.Kind.Path == nil {
		return ""
	}
	return a.Kind.Path(a.Text)
}
