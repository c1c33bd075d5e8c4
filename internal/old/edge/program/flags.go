package program

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Judged is the value of a flag that is judged as it is read. So a value that makes
// no sense is an error of the command line, before anything is done.
type Judged struct {
	To     *string
	Kind   string             // of value, for -h
	Words  []string           // values, or their beginnings, for the completions of shells
	Secret bool               // a value may hold one: errors do not repeat it
	Judge  func(string) error // its error is a sentence that says which values there are
}

// String implements pflag.Value, as do the other methods.
func (j Judged) String() string { return *j.To }

// Type see String.
func (j Judged) Type() string { return j.Kind }

// Set see String.
func (j Judged) Set(text string) error {
	if err := j.Judge(text); err != nil {
		return err
	}
	*j.To = text
	return nil
}

// AddListen adds a flag that takes an address to listen on.
func AddListen(flags *pflag.FlagSet, to *string, name, value, usage string) {
	*to = value
	flags.Var(Judged{To: to, Kind: "address", Judge: checkListen}, name, usage)
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

// checkAdmin is checkListen for an address that may be empty. Without a host it is
// that of this machine alone.
func checkAdmin(text string) error {
	if text != "" && checkListen(text) != nil {
		return errors.New("give HOST:PORT, such as 127.0.0.1:9090 or :9090, which only this machine reaches")
	}
	return nil
}

// CheckPublicURL returns an error unless text can begin a link of a response. It may be
// empty.
func CheckPublicURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsAny(text, "<>#") {
		return errors.New("give an http or https address without user, query or fragment, such as https://api.example.com/v1")
	}
	return nil
}

// AddChoice adds a flag that takes one of these words.
func AddChoice(flags *pflag.FlagSet, to *string, name, value, usage string, words ...string) {
	*to = value
	flags.Var(Judged{To: to, Kind: "word", Words: words, Judge: func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		last := len(words) - 1
		return fmt.Errorf("give %s or %s", strings.Join(words[:last], ", "), words[last])
	}}, name, usage)
}

// networks is the value of a flag of networks; an address is the network of itself.
type networks []netip.Prefix

// Set implements pflag.Value: it adds the networks of a list.
func (n *networks) Set(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return fmt.Errorf("%q is no address and no network, such as 127.0.0.1 or 10.0.0.0/8", text)
		}
		*n = append(*n, prefix.Masked())
	}
	return nil
}

// String implements pflag.Value, as does Type.
func (n *networks) String() string {
	var texts []string
	for _, prefix := range *n {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ",")
}

// Type see String.
func (n *networks) Type() string { return "networks" }

// FlagError returns what a person reads of an error of pflag in parsing these flags.
func FlagError(flags *pflag.FlagSet, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok && e.GetSpecifiedShortnames() == "" {
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant := almost(e.GetSpecifiedName(), names); meant != "" {
			return fmt.Errorf("%w, perhaps --%s", err, meant)
		}
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := e.GetFlag()
		return fmt.Errorf("--%s%s: %s", f.Name, shown(f, " ", e.GetValue()), explain(f, e))
	}
	return err
}

// explain says which values a flag takes in place of the refused one.
func explain(f *pflag.Flag, err error) string {
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

// shown returns the value of a flag as an error shows it, behind sign.
func shown(f *pflag.Flag, sign, text string) string {
	if j, ok := f.Value.(Judged); ok && j.Secret {
		return ""
	}
	return sign + strconv.Quote(text)
}
