package check

import (
	"slices"
	"strings"
)

// wrongMethod is a method that no path of the contract has. It changes nothing
// where a server knows it after all (RFC 4918).
const wrongMethod = "PROPFIND"

func routing() []rule {
	unknown := []request{get("/petstore-check-nothing-is-here"), get("/pets/1/2"), get("/pets/")}
	keyless := []request{unknown[0].anonymous(), unknown[1].anonymous()}
	wrong := []request{send(wrongMethod, "/pets"), send(wrongMethod, "/pets/1")}
	return []rule{
		{title: "an unknown path is 404", source: "Errors", check: responds(404, unknown...)},
		{title: "an unknown path is 404 without a key too", source: "decisions", check: responds(404, keyless...)},
		{title: "another method than the path has is 405", source: "Errors", check: responds(405, wrong...)},
		{title: "another method is 405 without a key too", source: "decisions", check: responds(405, wrong[0].anonymous())},
		{title: "405 says in Allow what there is", source: "RFC 9110 §15.5.6", check: func(p *probe) error {
			if err := p.allows(wrong[0], "GET", "HEAD", "OPTIONS", "POST"); err != nil {
				return err
			}
			return p.allows(wrong[1], "GET", "HEAD", "OPTIONS")
		}},
		{title: "an animal cannot be changed or removed: 405", source: "Errors", writes: true, check: unchangeable},
		{title: "OPTIONS is 204 and needs no key", source: "decisions", check: responds(204,
			send("OPTIONS", "/pets").anonymous(), send("OPTIONS", "/pets/1").anonymous())},
		{title: "OPTIONS says in Allow what there is", source: "decisions", check: func(p *probe) error {
			if err := p.allows(send("OPTIONS", "/pets").anonymous(), "GET", "HEAD", "OPTIONS", "POST"); err != nil {
				return err
			}
			return p.allows(send("OPTIONS", "/pets/1").anonymous(), "GET", "HEAD", "OPTIONS")
		}},
		{title: "HEAD of an error responds like GET", source: "decisions", check: func(p *probe) error {
			if err := p.headLikeGet("/pets?limit=0"); err != nil {
				return err
			}
			return p.headLikeGet("/pets/" + noAnimal)
		}},
	}
}

// allows checks the methods in Allow, in whatever order.
func (p *probe) allows(r request, want ...string) error {
	resp := p.send(r)
	var got []string
	for _, value := range resp.header.Values("Allow") {
		for method := range strings.SplitSeq(value, ",") {
			got = append(got, strings.TrimSpace(method))
		}
	}
	if slices.Sort(got); resp.err != nil || !slices.Equal(got, want) {
		return resp.mismatch(resp.line("Allow"), "Allow: "+strings.Join(want, ", "))
	}
	return nil
}

// unchangeable tries to change an animal of this check's own.
func unchangeable(p *probe) error {
	made, _, err := p.create(frank)
	if err != nil {
		return err
	}
	change := post(`{"name":"changed","categoryId":2}`)
	for _, method := range []string{"DELETE", "PUT", "PATCH"} {
		r := send(method, path(made))
		if method != "DELETE" {
			r = r.with("Content-Type", "application/json").withBody(change.body)
		}
		if err := p.send(r).is(405); err != nil {
			return err
		}
	}
	return nil
}
