package program

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Variables are the variables of the environment that stand in for flags. It is the
// name of the service: the flag --log-level of the service notes is NOTES_LOG_LEVEL.
type Variables string

// Of returns the variable that stands in for a flag, or "" where none can. A variable
// outlasts the command that a person set it for. So no variable forces, says yes or
// changes the output of a command.
func (v Variables) Of(flag string) string {
	if slices.Contains([]string{"help", "version", "force", "yes", "check", "json"}, flag) {
		return ""
	}
	return v.prefix() + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (v Variables) prefix() string { return strings.ToUpper(string(v)) + "_" }

// All returns the variables that stand in for these flags.
func (v Variables) All(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if name := v.Of(f.Name); name != "" {
			names = append(names, name)
		}
	})
	return names
}

// Describe has -h name each flag's variable.
func (v Variables) Describe(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if variable := v.Of(f.Name); variable != "" {
			f.Usage += " [$" + variable + "]"
		}
	})
}

// Set sets the flags that the command line does not from their variables. Its error
// is a UsageError.
func (v Variables) Set(flags *pflag.FlagSet, getenv func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := v.Of(f.Name)
		if f.Changed || variable == "" {
			return
		}
		value := getenv(variable)
		if value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, Misuse("%s%s, which stands for --%s: %s", variable, shown(f, "=", value), f.Name, explain(f, err)))
		}
	})
	return errors.Join(errs...)
}
