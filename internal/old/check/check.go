// Package check holds any running server against the contract, from outside:
// it sends requests and judges the responses, rule by rule. It knows nothing of
// this service's own code and does not read openapi.yaml. The rules of the document
// are written down here once more by hand, so that neither can be wrong unnoticed.
// The package does not judge speed, durability or the responses of a failing store.
package check

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Verdict is the result of a rule.
type Verdict string

// The verdicts.
const (
	Holds     Verdict = "holds"
	Fails     Verdict = "does not hold"
	Unchecked Verdict = "not checked"
)

// Result is a rule and its verdict.
type Result struct {
	Group   string  `json:"group"`
	Title   string  `json:"title"`
	Source  string  `json:"source"` // a place in openapi.yaml, an RFC, or decisions: those in internal/proof/contract/README.md
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`  // the reason that a rule was not checked
	Got     string  `json:"got,omitempty"`  // where it does not hold
	Want    string  `json:"want,omitempty"` // the same
	Curl    string  `json:"curl,omitempty"` // a line for a shell that sends the request again
}

// Config is the scope of a check and its bounds.
type Config struct {
	Base    *url.URL       // as ParseBase returns it
	Key     string         // the API key; it goes to Base's host and nowhere else
	Write   bool           // whether animals may be added
	Only    *regexp.Regexp // rules whose "group: title" it matches; nil for all
	Timeout time.Duration  // for one request
	Rate    int            // requests a second at most; 0 for no bound
	Report  func(Result)   // is called with every rule as soon as it is judged
}

// Report is a finished or interrupted check.
type Report struct {
	Results  []Result
	Requests int    // how many were sent
	Left     int    // how many animals the check has added; no operation removes them
	Mark     string // the text that their names hold
}

// Count returns how many rules have that verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// Document returns the report as one JSON object. With failures it has only the rules
// that do not hold.
func (r Report) Document(cfg Config, failures bool) any {
	rules := r.Results
	if failures {
		rules = slices.DeleteFunc(slices.Clone(rules), func(r Result) bool { return r.Verdict != Fails })
	}
	return struct {
		Address   string   `json:"address"`
		Write     bool     `json:"write"`
		Holds     int      `json:"holds"`
		Fails     int      `json:"fails"`
		Unchecked int      `json:"unchecked"`
		Requests  int      `json:"requests"`
		Left      int      `json:"left"`
		Mark      string   `json:"mark"`
		Rules     []Result `json:"rules"`
	}{cfg.Base.String(), cfg.Write, r.Count(Holds), r.Count(Fails), r.Count(Unchecked), r.Requests, r.Left, r.Mark, rules}
}

// ParseBase reads the base address of a server. It refuses an address that would
// take the key to another host, or the rules to another path.
func ParseBase(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("the address must be like http://127.0.0.1:8080/v1")
	case u.User != nil:
		return nil, errors.New("the address must hold no user and no password; the API key is all that is sent")
	case u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return nil, errors.New("the address must end in /v1, without a query or a fragment")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// ParseKey reads an API key. The error does not show it.
func ParseKey(key string) (string, error) {
	unfit := strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	switch {
	case key == "":
		return "", errors.New("no API key: give it in PETSTORE_KEY")
	case unfit:
		return "", errors.New("the API key in PETSTORE_KEY cannot be sent: it holds a space, a line break or a character outside ASCII")
	}
	return key, nil
}

// Run judges every rule of cfg. An error means that there was nothing to judge:
// nothing responds at the address, it is not the contract's, or the key is
// refused. Once ctx ends, Run returns and the remaining rules are not checked.
func Run(ctx context.Context, cfg Config) (Report, error) {
	transport := &http.Transport{
		// No proxy: the key goes to the host of the address and nowhere else.
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		DisableCompression:     true, // the bytes are judged as they come
		MaxResponseHeaderBytes: 1 << 20,
	}
	defer transport.CloseIdleConnections()
	p := newProbe(ctx, cfg, transport)
	report := Report{Mark: p.mark}
	rules := selected(cfg.Only)
	if len(rules) == 0 {
		return report, errors.New("no rule matches; without a pattern all are checked")
	}
	if err := p.firstContact(); err != nil {
		report.Requests = p.sent
		return report, err
	}
	p.watched = rules
	for _, r := range rules {
		result := p.judge(r)
		report.Results = append(report.Results, result)
		if cfg.Report != nil {
			cfg.Report(result)
		}
	}
	report.Requests, report.Left = p.sent, len(p.made)
	return report, nil
}

// Rules returns every rule there is, in the order of a check.
func Rules() (all []Result) {
	for _, r := range selected(nil) {
		all = append(all, Result{Group: r.group, Title: r.title, Source: r.source})
	}
	return all
}
