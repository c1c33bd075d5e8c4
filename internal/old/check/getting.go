package check

import (
	"fmt"
	"strings"
)

// The dates of getPet's end, as the document has them.
const (
	deprecation = "@1795219200" // x-deprecated-at
	sunset      = "Thu, 05 Dec 2030 00:00:00 GMT"
)

func getting() []rule {
	errors := []request{get("/pets/" + noAnimal), get("/pets/abc"), get("/pets/" + noAnimal).anonymous()}
	return []rule{
		{title: "an animal is 200", source: "getPet", check: onOne(func(p *probe, listed pet) error {
			return p.send(get(path(listed))).is(200)
		})},
		{title: "it is as in the list", source: "getPet", check: onOne(func(p *probe, listed pet) error {
			resp := p.send(get(path(listed)))
			got, err := resp.pet()
			if err == nil && !got.same(listed) {
				err = resp.mismatch(resp.text(), "the animal as it is in the list")
			}
			return err
		})},
		{title: "it has id, name and categoryId, of their types", source: "Pet", check: onOne(func(p *probe, listed pet) error {
			resp := p.send(get(path(listed)))
			got, err := resp.pet()
			if err == nil && got.fault() != "" {
				err = resp.mismatch(got.fault(), "id and categoryId integers, name a string")
			}
			return err
		})},
		{title: "percent-encoded digits are digits", source: "RFC 3986 §2.3", check: onOne(func(p *probe, listed pet) error {
			resp := p.send(get(encoded(path(listed))))
			got, err := resp.pet()
			if err == nil && got.id != listed.id {
				err = resp.mismatch(resp.text(), fmt.Sprint("the animal with id ", listed.id))
			}
			return err
		})},
		{title: "an id that no animal has is 404", source: "getPet", check: responds(404, get("/pets/"+noAnimal))},
		{title: "0 and negative ids are 404", source: "decisions", check: responds(404, get("/pets/0"), get("/pets/-1"), get("/pets/-9223372036854775808"))},
		{title: "an id that is no integer is 400", source: "getPet", check: responds(400, get("/pets/abc"), get("/pets/1.5"), get("/pets/1e1"))},
		{title: "an id past int64 is 400", source: "getPet", check: responds(400, get("/pets/9223372036854775808"))},
		{title: "HEAD of an animal responds like GET", source: "decisions", check: onOne(func(p *probe, listed pet) error {
			return p.headLikeGet(path(listed))
		})},
		{title: "an animal comes with Deprecation: " + deprecation, source: "RFC 9745", check: onOne(func(p *probe, listed pet) error {
			return p.says(get(path(listed)), "Deprecation", deprecation)
		})},
		{title: "400, 401 and 404 come with Deprecation too", source: "RFC 9745", check: everySays(errors, "Deprecation", deprecation)},
		{title: "an animal comes with the date of its Sunset", source: "RFC 8594", check: onOne(func(p *probe, listed pet) error {
			return p.says(get(path(listed)), "Sunset", sunset)
		})},
		{title: "400, 401 and 404 come with Sunset too", source: "RFC 8594", check: everySays(errors, "Sunset", sunset)},
		{title: "the list announces no end", source: "Deprecation", check: func(p *probe) error {
			resp := p.send(get("/pets?limit=1"))
			if got := resp.header.Get("Deprecation") + resp.header.Get("Sunset"); resp.err != nil || got != "" {
				return resp.mismatch(got, "neither Deprecation nor Sunset")
			}
			return nil
		}},
	}
}

// onOne returns a check of an animal in the list.
func onOne(check func(*probe, pet) error) func(*probe) error {
	return func(p *probe) error {
		pets, _, err := p.sample()
		if err != nil {
			return err
		}
		return check(p, pets[len(pets)/2])
	}
}

func path(of pet) string { return fmt.Sprint("/pets/", of.id) }

// encoded returns the path with its digits percent-encoded.
func encoded(path string) string {
	id := strings.TrimPrefix(path, "/pets/")
	var b strings.Builder
	for i := range len(id) {
		fmt.Fprintf(&b, "%%%02X", id[i])
	}
	return "/pets/" + b.String()
}

func everySays(requests []request, name, want string) func(*probe) error {
	return func(p *probe) error {
		for _, r := range requests {
			if err := p.says(r, name, want); err != nil {
				return err
			}
		}
		return nil
	}
}
