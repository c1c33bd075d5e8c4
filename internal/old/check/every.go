package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$`)
)

// codes returns the document's codes by status.
func codes() map[int][]string {
	return map[int][]string{
		400: {"invalid_parameter", "invalid_body", "invalid_request"},
		401: {"unauthorized"},
		404: {"not_found"},
		405: {"method_not_allowed"},
		413: {"payload_too_large"},
		415: {"unsupported_media_type"},
		422: {"idempotency_key_reused"},
		500: {"internal"},
		503: {"unavailable"},
	}
}

func everyResponse() []rule {
	return []rule{
		{title: "a client's X-Request-Id is kept", source: "X-Request-Id", check: func(p *probe) error {
			for _, id := range []string{"petstore-check_1.a", strings.Repeat("x", 64)} {
				if err := p.says(get("/pets?limit=1").with("X-Request-Id", id), "X-Request-Id", id); err != nil {
					return err
				}
			}
			return nil
		}},
		{title: "one that is none is replaced", source: "X-Request-Id", check: func(p *probe) error {
			for _, id := range []string{strings.Repeat("x", 65), "two words", "a,b"} {
				resp := p.send(get("/pets?limit=1").with("X-Request-Id", id))
				if resp.err != nil || resp.header.Get("X-Request-Id") == id {
					return resp.mismatch("X-Request-Id: "+id, "a new one")
				}
			}
			return nil
		}},
		{title: "two requests get two ids", source: "X-Request-Id", check: func(p *probe) error {
			first, second := p.send(get("/pets?limit=1")), p.send(get("/pets?limit=1"))
			if id := second.header.Get("X-Request-Id"); second.err != nil || id != "" && id == first.header.Get("X-Request-Id") {
				return second.mismatch("X-Request-Id: "+id+" twice", "another one each time")
			}
			return nil
		}},
		{title: "every response has an X-Request-Id", source: "X-Request-Id", every: func(resp *response) (bool, error) {
			if id, ok := resp.sole("X-Request-Id"); !ok || !requestID.MatchString(id) {
				return true, resp.mismatch(resp.line("X-Request-Id"), "one X-Request-Id of 1 to 64 of A-Z a-z 0-9 . _ -")
			}
			return true, nil
		}},
		everySole("every response has X-Content-Type-Options: nosniff", "X-Content-Type-Options", "nosniff"),
		everySole("every response has Cache-Control: no-store", "Cache-Control", "no-store"),
		{title: "every success with a body is application/json", source: "listPets", every: func(resp *response) (bool, error) {
			return resp.status/100 == 2 && len(resp.body) > 0, wrongUnless(resp, resp.isJSON(), resp.line("Content-Type"), "Content-Type: application/json")
		}},
		{title: "every error is application/json", source: "Error", every: ofErrors(func(resp *response) error {
			return wrongUnless(resp, resp.isJSON(), resp.line("Content-Type"), "Content-Type: application/json")
		})},
		{title: "errors have code, message and status, of their types", source: "Error", every: ofErrors(func(resp *response) error {
			fault := resp.problem().fault
			return wrongUnless(resp, fault == "", fault, "code and message strings, status an integer")
		})},
		{title: "status in the body is that of the response", source: "Error", every: ofErrors(func(resp *response) error {
			p := resp.problem()
			return wrongUnless(resp, p.fault != "" || string(p.status) == strconv.Itoa(resp.status), "status "+string(p.status), "status "+strconv.Itoa(resp.status))
		})},
		{title: "every code is lower_snake_case", source: "Error", every: ofErrors(func(resp *response) error {
			p := resp.problem()
			return wrongUnless(resp, p.fault != "" || snakeCase.MatchString(p.code), "code "+quote(p.code), "lower_snake_case")
		})},
		{title: "every code is the one listed for the status", source: "Errors", every: ofErrors(func(resp *response) error {
			p, listed := resp.problem(), codes()[resp.status]
			return wrongUnless(resp, p.fault != "" || listed == nil || slices.Contains(listed, p.code),
				fmt.Sprintf("%d with code %s", resp.status, quote(p.code)), strings.Join(listed, " or "))
		})},
		{title: "every message is one line for a person", source: "Error", every: ofErrors(func(resp *response) error {
			p := resp.problem()
			oneLine := strings.TrimSpace(p.message) != "" && !strings.ContainsAny(p.message, "\n\r")
			return wrongUnless(resp, p.fault != "" || oneLine, "message "+quote(p.message), "one line that says what is wrong")
		})},
		{title: "no response is 5xx, unless it is 503", source: "Errors", every: func(resp *response) (bool, error) {
			return true, wrongUnless(resp, resp.status < 500 || resp.status == 503, resp.text(), "a response that does not fail")
		}},
		{title: "every 503 and 429 has Retry-After", source: "Retry-After", every: func(resp *response) (bool, error) {
			value, ok := resp.sole("Retry-After")
			_, err := strconv.ParseUint(value, 10, 31)
			return resp.status == 503 || resp.status == 429, wrongUnless(resp, ok && err == nil, resp.line("Retry-After"), "Retry-After in seconds")
		}},
	}
}

// everySole is the rule of a header that every response has, with one value.
func everySole(title, name, want string) rule {
	return rule{title: title, source: "decisions", every: func(resp *response) (bool, error) {
		got, ok := resp.sole(name)
		return true, wrongUnless(resp, ok && got == want, resp.line(name), name+": "+want)
	}}
}

// ofErrors applies to every response that must have the Error body: all but
// successes and the responses to HEAD.
func ofErrors(wrong func(*response) error) func(*response) (bool, error) {
	return func(resp *response) (bool, error) {
		if resp.status/100 == 2 || resp.status == 304 || resp.request.method == "HEAD" {
			return false, nil
		}
		return true, wrong(resp)
	}
}

func wrongUnless(resp *response, holds bool, got, want string) error {
	if holds {
		return nil
	}
	return resp.mismatch(got, want)
}
