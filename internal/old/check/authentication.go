package check

import (
	"bytes"
	"strings"
)

const (
	wrongKey = "petstore-check-sends-this-key-which-is-none"
	noAnimal = "9223372036854775807" // no id: those the service assigns stay below 2^53
)

func authentication() []rule {
	list, one := get("/pets"), get("/pets/"+noAnimal)
	wrong := list.as("Bearer " + wrongKey)
	return []rule{
		{title: "the base address ends in /v1", source: "servers", check: versioned},
		{title: "a request without a key is 401", source: "Unauthorized", check: responds(401, list.anonymous(), one.anonymous())},
		{title: "the challenge to no key is Bearer, with a realm", source: "RFC 6750 §3", check: func(p *probe) error {
			return p.challenged(list.anonymous(), "Bearer with a realm", func(c string) bool { return strings.Contains(strings.ToLower(c), "realm=") })
		}},
		{title: "the challenge to no key names no error", source: "RFC 6750 §3", check: func(p *probe) error {
			return p.challenged(list.anonymous(), "Bearer without error", func(c string) bool { return !strings.Contains(c, "error=") })
		}},
		{title: "a wrong key is 401", source: "Unauthorized", check: responds(401, wrong, one.as("Bearer "+wrongKey))},
		{title: `the challenge to a wrong key: error="invalid_token"`, source: "RFC 6750 §3.1", check: func(p *probe) error {
			return p.challenged(wrong, `Bearer with error="invalid_token"`, func(c string) bool { return strings.Contains(c, `error="invalid_token"`) })
		}},
		{title: "every 401 has the same body", source: "decisions", check: sameRefusal},
		{title: "the scheme's case does not matter", source: "bearerAuth", check: responds(200, list.as("bearer "+keyVariable), list.as("BEARER "+keyVariable))},
		{title: "another scheme is 401", source: "bearerAuth", check: responds(401,
			list.as("Basic "+keyVariable), list.as("Token "+keyVariable), list.as(keyVariable))},
		{title: "a scheme without a key is 401", source: "bearerAuth", check: responds(401, list.as("Bearer"), list.as(""))},
		{title: "two Authorization headers are 401", source: "decisions", check: responds(401, list.as(bearer, bearer), list.as(bearer, "Bearer "+wrongKey))},
		{title: "a key in the URL is no key", source: "bearerAuth", writes: true, check: responds(401,
			get("/pets?access_token="+keyVariable).anonymous(), get("/pets?api_key="+keyVariable).anonymous())},
		{title: "401 comes before 400", source: "Authentication", check: responds(401,
			get("/pets?limit=0").anonymous(), get("/pets?%zz").anonymous(), get("/pets/abc").anonymous())},
		{title: "adding without a key or with a wrong one is 401", source: "Unauthorized", writes: true, check: func(p *probe) error {
			r := p.refusal(`{"name":NAME,"categoryId":CATEGORY}`)
			return responds(401, r.anonymous(), r.as("Bearer "+wrongKey))(p)
		}},
		{title: "401 comes before 400, 413 and 415 where one is added", source: "Authentication", writes: true, check: func(p *probe) error {
			r := p.refusal(`{"name":NAME}`).anonymous()
			return responds(401, r, r.without("Content-Type"), p.tooLarge().anonymous())(p)
		}},
	}
}

// responds returns a check that each of the requests has that status.
func responds(status int, requests ...request) func(*probe) error {
	return func(p *probe) error {
		for _, r := range requests {
			if err := p.send(r).is(status); err != nil {
				return err
			}
		}
		return nil
	}
}

func versioned(p *probe) error {
	if strings.HasSuffix(p.Base.Path, "/v1") {
		return nil
	}
	return &mismatch{request: get("/pets"), got: p.Base.String(), want: "an address that ends in the version, /v1"}
}

// challenged checks the one WWW-Authenticate of a 401.
func (p *probe) challenged(r request, want string, fits func(string) bool) error {
	resp := p.send(r)
	challenge, ok := resp.sole("WWW-Authenticate")
	scheme, _, _ := strings.Cut(challenge, " ")
	if resp.err != nil || !ok || !strings.EqualFold(scheme, "Bearer") || !fits(challenge) {
		return resp.mismatch(resp.line("WWW-Authenticate"), "WWW-Authenticate: "+want)
	}
	return nil
}

// sameRefusal checks that a 401 does not tell why.
func sameRefusal(p *probe) error {
	list := get("/pets")
	first := p.send(list.anonymous())
	for _, r := range []request{list.as("Bearer " + wrongKey), list.as("Basic eDp5"), get("/pets/" + noAnimal).anonymous()} {
		if resp := p.send(r); resp.err != nil || !bytes.Equal(resp.body, first.body) {
			return resp.mismatch(resp.text(), "the body of a request without a key, "+first.text())
		}
	}
	return nil
}
