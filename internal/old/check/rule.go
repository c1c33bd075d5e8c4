package check

import (
	"errors"
	"fmt"
	"regexp"
)

// rule is one statement of the contract. Either check judges it, or every, which
// sees each response that the other rules receive.
type rule struct {
	group, title, source string
	writes               bool // whether it adds animals, or might on a server that is wrong
	check                func(*probe) error
	every                func(*response) (applies bool, wrong error)

	seen, wrong int // by every
	first       error
}

// mismatch is the error of a rule that does not hold.
type mismatch struct {
	request   request
	got, want string
}

func (m *mismatch) Error() string { return fmt.Sprintf("got %s, want %s", m.got, m.want) }

// unchecked is the error of a rule that could not be judged: the reason.
type unchecked string

func (u unchecked) Error() string { return string(u) }

// selected returns fresh rules whose "group: title" matches only.
func selected(only *regexp.Regexp) (rules []*rule) {
	for _, g := range []struct {
		name  string
		rules []rule
	}{
		{"Authentication", authentication()},
		{"Adding an animal", adding()},
		{"Safe retries", retrying()},
		{"What is refused", refusing()}, // whose last rule looks at all refusals
		{"Listing", listing()},
		{"Paging", paging()},
		{"Getting an animal", getting()},
		{"Paths and methods", routing()},
		{"Every response", everyResponse()},
	} {
		for _, r := range g.rules {
			r.group = g.name
			if only == nil || only.MatchString(r.group+": "+r.title) {
				rules = append(rules, &r)
			}
		}
	}
	return rules
}

// judge returns the result of a rule.
func (p *probe) judge(r *rule) Result {
	result := Result{Group: r.group, Title: r.title, Source: r.source, Verdict: Holds}
	var err error
	switch {
	case p.ctx.Err() != nil:
		err = unchecked("the check was ended before")
	case r.writes && !p.Write:
		err = unchecked("needs --write")
	case r.every != nil:
		err = r.watchedVerdict()
	default:
		if err = r.check(p); p.ctx.Err() != nil {
			err = unchecked("the check was ended meanwhile")
		}
	}
	if err == nil {
		return result
	}
	if m, ok := errors.AsType[*mismatch](err); ok {
		result.Verdict, result.Got, result.Want = Fails, p.show(m.got), p.show(m.want)
		m.request.target = p.redact(m.request.target) // it may be the server's link
		result.Curl = m.request.curl(p.Base.String())
		return result
	}
	result.Verdict, result.Why = Unchecked, p.show(err.Error())
	return result
}

// watch judges a response by a rule on every response.
func (r *rule) watch(resp *response) {
	applies, wrong := r.every(resp)
	if !applies {
		return
	}
	r.seen++
	if wrong != nil {
		r.wrong++
		if r.first == nil {
			r.first = wrong
		}
	}
}

func (r *rule) watchedVerdict() error {
	m, failed := errors.AsType[*mismatch](r.first)
	switch {
	case r.seen == 0:
		return unchecked("no response was one of these")
	case failed && r.wrong > 1:
		m.got = fmt.Sprintf("in %d of %d responses, first %s", r.wrong, r.seen, m.got)
	}
	return r.first
}
