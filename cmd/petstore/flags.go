package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/pets/store"
)

// judged is the value of a flag that is judged as it is read, so that a value that
// makes no sense is an error of the command line, before anything is done.
type judged struct {
	to    *string
	kind  string             // of value, for -h
	words []string           // values, or their beginnings, for the completions of shells
	judge func(string) error // a sentence that says which values there are
}

func (j judged) String() string { return *j.to }

// Type implements pflag.Value.
func (j judged) Type() string { return j.kind }

// Set implements pflag.Value.
func (j judged) Set(text string) error {
	if err := j.judge(text); err != nil {
		return err
	}
	*j.to = text
	return nil
}

// addStoreFlag adds --store, which every command that works on a store has.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	*address = "sqlite:petstore.db"
	flags.Var(judged{address, "address", []string{"sqlite:", "postgres://", store.Memory}, store.CheckAddress},
		"store", "where animals and keys are kept: "+store.Addresses)
}

// addListenFlag adds a flag that takes an address to listen on.
func addListenFlag(flags *pflag.FlagSet, to *string, name, value, usage string) {
	*to = value
	flags.Var(judged{to, "address", nil, checkListen}, name, usage)
}

// checkListen returns an error unless text is HOST:PORT. Whether there is such a
// host, only the system can tell.
func checkListen(text string) error {
	_, port, err := net.SplitHostPort(text)
	number, notNumber := strconv.ParseInt(port, 10, 64)
	if err != nil || port == "" || notNumber == nil && (number < 0 || number > 65535) {
		return errors.New("give HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses of this machine")
	}
	return nil
}

// addChoiceFlag adds a flag that takes one of these words.
func addChoiceFlag(flags *pflag.FlagSet, to *string, name, value, usage string, words ...string) {
	*to = value
	flags.Var(judged{to, "word", words, func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		last := len(words) - 1
		return fmt.Errorf("give %s or %s", strings.Join(words[:last], ", "), words[last])
	}}, name, usage)
}

// explainValue says which values a flag takes in place of the refused one.
func explainValue(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "give true or false"
	case "int":
		return "give an integer"
	case "float64":
		return "give a number, such as 50 or 0.5"
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = e.Unwrap() // the sentence of the flag's own type
	}
	return err.Error()
}

// shownValue returns the value of a flag as an error shows it, behind sign. The
// errors of addresses of stores name them, without their secrets.
func shownValue(f *pflag.Flag, sign, text string) string {
	if f.Name == "store" {
		return ""
	}
	return sign + strconv.Quote(text)
}
