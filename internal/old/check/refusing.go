package check

import (
	"fmt"
	"strings"
)

func refusing() []rule {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	rules := []rule{
		{title: "a missing name or categoryId is 400", source: "NewPet", check: refusedBody(
			`{"categoryId":CATEGORY}`, `{"name":NAME}`, `{}`, `{"NAME":NAME,"categoryId":CATEGORY}`)},
		{title: "null for a name or a categoryId is 400", source: "NewPet", check: refusedBody(
			`{"name":null,"categoryId":CATEGORY}`, `{"name":NAME,"categoryId":null}`)},
		{title: "null for a status is 400", source: "NewPet", check: refusedBody(`{"name":NAME,"categoryId":CATEGORY,"status":null}`)},
		{title: "a name that is no string is 400", source: "NewPet", check: refusedBody(
			`{"name":7,"categoryId":CATEGORY}`, `{"name":true,"categoryId":CATEGORY}`, `{"name":["x"],"categoryId":CATEGORY}`)},
		{title: "a categoryId that is no number is 400", source: "NewPet", check: refusedBody(
			`{"name":NAME,"categoryId":"7"}`, `{"name":NAME,"categoryId":false}`, `{"name":NAME,"categoryId":{}}`)},
		{title: "a status that is none of the three is 400", source: "PetStatus", check: refusedBody(
			`{"name":NAME,"categoryId":CATEGORY,"status":"lost"}`, `{"name":NAME,"categoryId":CATEGORY,"status":""}`,
			`{"name":NAME,"categoryId":CATEGORY,"status":"SOLD"}`, `{"name":NAME,"categoryId":CATEGORY,"status":1}`)},
		{title: "7.0 is no integer: 400", source: "Numbers", check: refusedBody(`{"name":NAME,"categoryId":7.0}`)},
		{title: "1e2 is no integer: 400", source: "Numbers", check: refusedBody(`{"name":NAME,"categoryId":1e2}`)},
		{title: "1.5 is no integer: 400", source: "Numbers", check: refusedBody(`{"name":NAME,"categoryId":1.5}`)},
		{title: "a categoryId past int64 is 400", source: "Numbers", check: refusedBody(
			`{"name":NAME,"categoryId":9223372036854775808}`, `{"name":NAME,"categoryId":-9223372036854775809}`)},
		{title: "a name with U+0000 is 400", source: "NewPet", check: refusedBody(`{"name":"MARK \u0000","categoryId":CATEGORY}`)},
		{title: "a duplicate key is 400", source: "decisions", check: refusedBody(
			`{"name":NAME,"name":NAME,"categoryId":CATEGORY}`, `{"name":NAME,"categoryId":CATEGORY,"category\u0049d":1}`)},
		{title: "anything behind the JSON is 400", source: "decisions", check: refusedBody(
			`{"name":NAME,"categoryId":CATEGORY} {}`, `{"name":NAME,"categoryId":CATEGORY}]`, `{"name":NAME,"categoryId":CATEGORY},`)},
		{title: "malformed JSON is 400", source: "decisions", check: refusedBody(
			`{"name":NAME,"categoryId":CATEGORY`, `{"name":NAME,"categoryId":CATEGORY,}`, `{'name':'MARK','categoryId':CATEGORY}`, `{"name":NAME,"categoryId":07}`)},
		{title: "an empty body is 400", source: "createPet", check: refusedBody(``, ` `)},
		{title: "JSON that is no object is 400", source: "NewPet", check: refusedBody(`[]`, `null`, `"MARK"`, `[{"name":NAME,"categoryId":CATEGORY}]`)},
		{title: "invalid UTF-8 is 400", source: "decisions", check: refusedBody("{\"name\":\"MARK \xff\",\"categoryId\":CATEGORY}", "{\"name\":\"MARK \xed\xa0\x80\",\"categoryId\":CATEGORY}")},
		{title: "a lone surrogate is 400", source: "decisions", check: refusedBody(`{"name":"MARK \ud83d","categoryId":CATEGORY}`, `{"name":"MARK \udc15","categoryId":CATEGORY}`)},
		{title: "nesting past 10,000 levels is 400", source: "RFC 8259 §9", check: func(p *probe) error {
			r := p.refusal(`{"name":NAME,"categoryId":CATEGORY,"x":DEEP}`)
			shell := "printf '" + strings.Replace(octal(r.body), "DEEP", "%s%s", 1) + `' "$(printf '%10001s' | tr ' ' '[')" "$(printf '%10001s' | tr ' ' ']')"`
			return responds(400, r.withBody(strings.Replace(r.body, "DEEP", deep, 1)).madeBy(shell))(p)
		}},
		{title: "the code of a refused body is invalid_body", source: "Errors", check: func(p *probe) error {
			return p.coded(p.refusal(`{"name":NAME,"categoryId":"x"}`), 400, "invalid_body")
		}},
		{title: "another media type or none is 415", source: "UnsupportedMediaType", check: func(p *probe) error {
			r := p.refusal(frankRefused).without("Content-Type")
			return responds(415, r, r.with("Content-Type", "text/plain"), r.with("Content-Type", "application/x-www-form-urlencoded"))(p)
		}},
		{title: "415 for a media type says Accept: application/json", source: "UnsupportedMediaType", check: func(p *probe) error {
			return p.says(p.refusal(frankRefused).without("Content-Type").with("Content-Type", "text/plain"), "Accept", "application/json")
		}},
		{title: "a compressed body is 415", source: "UnsupportedMediaType", check: func(p *probe) error {
			r := p.refusal(frankRefused)
			return responds(415, r.with("Content-Encoding", "gzip"), r.with("Content-Encoding", "br"))(p)
		}},
		{title: "415 for a coding says Accept-Encoding: identity", source: "UnsupportedMediaType", check: func(p *probe) error {
			return p.says(p.refusal(frankRefused).with("Content-Encoding", "gzip"), "Accept-Encoding", "identity")
		}},
		{title: "a body of more than 64 KiB is 413", source: "PayloadTooLarge", check: func(p *probe) error {
			return responds(413, p.tooLarge())(p)
		}},
		{title: "strict handling: an unknown property is 400", source: "Evolution", check: func(p *probe) error {
			return responds(400, strict(p.refusal(`{"name":NAME,"categoryId":CATEGORY,"tags":[]}`)))(p)
		}},
		{title: "nothing that was refused has added an animal", source: "decisions", check: refusedAddsNothing},
	}
	for i := range rules {
		rules[i].writes = true
	}
	return rules
}

const frankRefused = `{"name":NAME,"categoryId":CATEGORY}`

// refusal is a request that must add nothing. If it adds an animal all the same,
// that has a name or category of no other animal: MARK and NAME stand for such a
// name, CATEGORY for such a category.
func (p *probe) refusal(template string) request {
	p.refusals++
	name := p.mark + " refused"
	return post(strings.NewReplacer(
		`"NAME"`, `"NAME"`, // a property
		"MARK", name, "NAME", quote(name), "CATEGORY", p.refused,
	).Replace(template))
}

// refusedBody returns a check that a body of each template is 400.
func refusedBody(templates ...string) func(*probe) error {
	return func(p *probe) error {
		for _, template := range templates {
			if err := p.send(p.refusal(template)).is(400); err != nil {
				return err
			}
		}
		return nil
	}
}

// tooLarge is a body of one byte too many.
func (p *probe) tooLarge() request {
	return p.refusal(frankRefused).padded(maxBody + 1)
}

// coded checks the code of an error. Another rule judges its status.
func (p *probe) coded(r request, status int, code string) error {
	resp := p.send(r)
	if got := resp.problem().code; resp.err != nil || resp.status == status && got != code {
		return resp.mismatch("code "+quote(got), "code "+quote(code))
	}
	return nil
}

// says checks one header of a response.
func (p *probe) says(r request, name, want string) error {
	resp := p.send(r)
	if got, ok := resp.sole(name); resp.err != nil || !ok || got != want {
		return resp.mismatch(resp.line(name), name+": "+want)
	}
	return nil
}

// refusedAddsNothing looks for refused animals among all that were added since the
// check began.
func refusedAddsNothing(p *probe) error {
	if p.refusals == 0 || len(p.made) == 0 {
		return unchecked("needs an animal that was added, and one that was refused")
	}
	w := walk{limit: 100, after: p.firstOwn - 1, pages: 20}
	err := p.walk(w, func(page []pet, resp *response) error {
		for _, found := range page {
			if strings.HasSuffix(found.name, p.mark+" refused") || found.category == p.refused {
				return resp.mismatch(fmt.Sprintf("id %d, name %s, categoryId %s", found.id, quote(found.name), found.category), "no animal of a request that was refused")
			}
		}
		return nil
	})
	return err
}
