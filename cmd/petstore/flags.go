package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/engine/edge"
)

// addFlag adds a flag whose text parse converts to value.
func addFlag[T any](flags *pflag.FlagSet, value *T, parse func(string) (T, error), name, usage string) {
	flags.Func(name, usage, func(text string) (err error) {
		*value, err = parse(text)
		return err
	})
}

// variableOf returns the name of the environment variable that sets a flag, or "" if none does.
func variableOf(flag string) string {
	if flag == "help" || flag == "version" || flag == "force" {
		return ""
	}
	return "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromVariables sets flags that the command line omits from their environment variables.
func setFromVariables(flags *pflag.FlagSet, variables map[string]string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		if f.Changed || variables[name] == "" {
			return
		}
		f.Changed = true
		if err := f.Value.Set(variables[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// Environment variables for fixed keys. There are no such flags, because ps shows flags.
const (
	keysVariable     = "PETSTORE_API_KEYS"
	keysFileVariable = "PETSTORE_API_KEYS_FILE"
)

// warnOfVariables warns of environment variables whose names begin with PETSTORE_ but set nothing.
func warnOfVariables(env *environment, root *cobra.Command) {
	known := append(variablesOf(root), keysVariable, keysFileVariable,
		"PETSTORE_URL", "PETSTORE_KEY", "PETSTORE_READ_ONLY_KEY") // which the sandbox prints for clients
	for _, name := range slices.Sorted(maps.Keys(env.variables)) {
		if strings.HasPrefix(name, "PETSTORE_") && env.variables[name] != "" && !slices.Contains(known, name) {
			env.logger.Warn("this environment variable sets nothing", "variable", name)
		}
	}
}

// variablesOf returns the variables that set flags of cmd or of its subcommands.
func variablesOf(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, variableOf(f.Name)) })
	for _, c := range cmd.Commands() {
		names = append(names, variablesOf(c)...)
	}
	return names
}

// fixedKeys returns the keys in PETSTORE_API_KEYS or in the file that
// PETSTORE_API_KEYS_FILE names, separated by commas or white space. Its errors contain no key.
func fixedKeys(variables map[string]string) ([]string, error) {
	source, text, path := keysVariable, variables[keysVariable], variables[keysFileVariable]
	switch {
	case text == "" && path == "":
		return nil, nil
	case text != "" && path != "":
		return nil, misuse("both %s and %s are set; unset one of them", keysVariable, keysFileVariable)
	case path != "":
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, misuse("%s: %w", keysFileVariable, err)
		}
		source, text = keysFileVariable+": "+path, string(content)
	}
	fixed := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(fixed) == 0 {
		return nil, misuse("%s: there is no key", source)
	}
	for i, key := range fixed {
		if len(key) < 16 || !edge.IsBearerToken(key) {
			return nil, misuse("%s: key %d of %d is invalid: a key must be at least 16 characters of A-Z a-z 0-9 - "+
				". _ ~ + / with = only at its end", source, i+1, len(fixed))
		}
	}
	return fixed, nil
}

// parseLifetime parses a positive duration, such as 30d or 1h30m, in units from y to ms.
func parseLifetime(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil || d == 0 {
		return 0, errors.New("it must be a duration such as 30d, 12h or 90m, of at most 292y")
	}
	return time.Duration(d), nil
}

// parseNetworks parses networks and addresses.
func parseNetworks(text string) (all []net.IPNet, err error) {
	for one := range strings.SplitSeq(text, ",") {
		if addr, err := netip.ParseAddr(one); err == nil {
			one = fmt.Sprintf("%s/%d", addr, addr.BitLen())
		}
		_, network, err := net.ParseCIDR(one)
		if err != nil {
			return nil, fmt.Errorf("%q must be a network, such as 10.0.0.0/8, or an address", one)
		}
		all = append(all, *network)
	}
	return all, nil
}

// urlForm matches a URI (RFC 3986) in ASCII. It needs no quotes in a header, in YAML or in a
// shell command.
var urlForm = regexp.MustCompile(`^(?i:https?)://` +
	`([0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?` +
	`(/([0-9A-Za-z._~-]|%[0-9A-Fa-f]{2})*)*$`)

// parseURL returns text if it is empty, or if it matches urlForm and its IP address and port can exist.
func parseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil && u.Port() != "" {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if text != "" && (err != nil || !urlForm.MatchString(text)) {
		return "", errors.New("it must be a URI in ASCII without user, query or fragment, such as https://api.example.com/v1")
	}
	return text, nil
}

func parseOrigins(text string) ([]string, error) {
	all := strings.Split(text, ",")
	other := regexp.MustCompile(`^$|[A-Z]|//.*/|^https:.*:443$|^http:.*:80$`) // browsers leave out the default port
	for _, origin := range all {
		if _, err := parseURL(origin); err != nil || other.MatchString(origin) {
			return nil, fmt.Errorf("%q is not an origin, such as https://app.example.com, in the form that browsers send", origin)
		}
	}
	return all, nil
}
