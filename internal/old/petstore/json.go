package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// addJSONFlag adds --json, by which a command prints its result for programs.
func addJSONFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON, for programs")
}

// printJSON prints a result for programs. Times in it are UTC, to the second.
func printJSON(out io.Writer, result any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(result)
}
