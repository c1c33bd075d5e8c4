package check

import (
	"fmt"
	"slices"
)

func listing() []rule {
	return []rule{
		{title: "the list is 200", source: "listPets", check: responds(200, get("/pets"))},
		{title: "the list is an array of objects, never null", source: "Pets", check: func(p *probe) error {
			for _, target := range []string{"/pets", "/pets?after=" + noAnimal} {
				if resp := p.send(get(target)); resp.err != nil || resp.status == 200 {
					if _, err := resp.pets(); err != nil {
						return err
					}
				}
			}
			return nil
		}},
		{title: "each has id, name and categoryId, of their types", source: "Pet", check: eachListed(func(a pet) (string, string) {
			return a.fault(), "id and categoryId integers, name a string"
		})},
		{title: "each has a status, one of the three", source: "Pet", check: eachListed(func(a pet) (string, string) {
			return a.statusFault(), "one of available, pending, sold"
		})},
		{title: "each id is from 1 to 2^53-1", source: "Pet", check: eachListed(func(a pet) (string, string) {
			if a.id < 1 || a.id > maxID {
				return fmt.Sprint("id ", a.id), "an id from 1 to 9007199254740991"
			}
			return "", ""
		})},
		{title: "ids ascend in the list", source: "listPets", check: listAscending},
		{title: "limit is 20 where none is given", source: "limit", check: defaultLimit},
		{title: "limit=1 gives one", source: "limit", check: func(p *probe) error {
			if _, _, err := p.sample(); err != nil {
				return err
			}
			return p.counts("/pets?limit=1", 1)
		}},
		{title: "limit=100 is taken, and gives no more", source: "limit", check: func(p *probe) error {
			pets, resp, err := p.list("/pets?limit=100&after=0")
			if err == nil && len(pets) > 100 {
				err = resp.mismatch(fmt.Sprint(len(pets), " animals"), "at most 100")
			}
			return err
		}},
		{title: "limit below 1 is 400", source: "limit", check: responds(400, get("/pets?limit=0"), get("/pets?limit=-1"))},
		{title: "limit above 100 is 400", source: "limit", check: responds(400, get("/pets?limit=101"), get("/pets?limit=99999999999999999999"))},
		{title: "limit that is no integer is 400", source: "limit", check: responds(400,
			get("/pets?limit=abc"), get("/pets?limit=1.5"), get("/pets?limit=1e1"), get("/pets?limit=0x10"), get("/pets?limit=%2010"))},
		{title: "an empty limit is 400", source: "decisions", check: responds(400, get("/pets?limit="), get("/pets?limit"))},
		{title: "limit given twice is 400", source: "decisions", check: responds(400, get("/pets?limit=1&limit=1"), get("/pets?limit=1&limit=2"))},
		{title: "status gives animals of that status only", source: "status", check: filterLeavesOut},
		{title: "status leaves out none of them", source: "status", check: filterKeeps},
		{title: "an unknown status is 400", source: "status", check: responds(400,
			get("/pets?status=lost"), get("/pets?status=SOLD"), get("/pets?status=sold,pending"))},
		{title: "an empty status is 400", source: "decisions", check: responds(400, get("/pets?status="), get("/pets?status"))},
		{title: "status given twice is 400", source: "decisions", check: responds(400, get("/pets?status=sold&status=sold"), get("/pets?status=sold&status=pending"))},
		{title: "unknown parameters are ignored", source: "Evolution", check: responds(200,
			get("/pets?petstore-check=1&limit=1"), get("/pets?LIMIT=0&Status=lost&limit=1"))},
		{title: "strict handling: an unknown parameter is 400", source: "Evolution", check: responds(400,
			strict(get("/pets?petstore-check=1")), strict(get("/pets?LIMIT=1")))},
		{title: "strict handling: a success says that it was applied", source: "Preference-Applied", check: func(p *probe) error {
			return p.says(strict(get("/pets?limit=1")), "Preference-Applied", "handling=strict")
		}},
		{title: "a malformed query string is 400", source: "decisions", check: responds(400,
			get("/pets?%zz"), get("/pets?limit=%zz"), get("/pets?x=%"), get("/pets?limit=5;x=1"))},
		{title: "the code of a refused parameter is invalid_parameter", source: "Errors", check: func(p *probe) error {
			return p.coded(get("/pets?limit=0"), 400, "invalid_parameter")
		}},
		{title: "Accept is not consulted", source: "decisions", check: responds(200,
			get("/pets?limit=1").with("Accept", "text/html"), get("/pets?limit=1").with("Accept", "application/json;q=0"))},
		{title: "HEAD responds like GET", source: "decisions", check: func(p *probe) error { return p.headLikeGet("/pets?limit=1") }},
		{title: "a header of 30 KiB is taken", source: "Errors", check: responds(200, get("/pets?limit=1").heavy(30<<10))},
	}
}

// strict has a request prefer that nothing of it is ignored (RFC 7240, section 4.4).
func strict(r request) request { return r.with("Prefer", "handling=strict") }

// eachListed returns a check of every animal on the first page.
func eachListed(fault func(pet) (got, want string)) func(*probe) error {
	return func(p *probe) error {
		pets, resp, err := p.sample()
		if err != nil {
			return err
		}
		for _, listed := range pets {
			if got, want := fault(listed); got != "" {
				return resp.mismatch(got, want)
			}
		}
		return nil
	}
}

func listAscending(p *probe) error {
	pets, resp, err := p.sample()
	if err != nil {
		return err
	}
	for i := range pets[1:] {
		if before, next := pets[i].id, pets[i+1].id; next <= before {
			return resp.mismatch(fmt.Sprintf("id %d after %d", next, before), "ids in ascending order")
		}
	}
	return nil
}

// counts checks how many animals a page has.
func (p *probe) counts(target string, want int) error {
	pets, resp, err := p.list(target)
	if err == nil && len(pets) != want {
		err = resp.mismatch(fmt.Sprint(len(pets), " animals"), fmt.Sprint(want))
	}
	return err
}

func defaultLimit(p *probe) error {
	pets, _, err := p.sample()
	if err != nil {
		return err
	}
	if len(pets) <= 20 {
		return unchecked("needs more than 20 animals")
	}
	return p.counts("/pets", 20)
}

func filterLeavesOut(p *probe) error {
	if _, _, err := p.sample(); err != nil {
		return err
	}
	for _, status := range statuses() {
		pets, resp, err := p.list("/pets?status=" + status)
		if err != nil {
			return err
		}
		for _, listed := range pets {
			if listed.status != status {
				return resp.mismatch(fmt.Sprintf("id %d, which is %s", listed.id, listed.status), "only animals that are "+status)
			}
		}
	}
	return nil
}

// filterKeeps compares with the first page: ids ascend, so its animals of the status
// begin the filtered list too.
func filterKeeps(p *probe) error {
	all, _, err := p.sample()
	if err != nil {
		return err
	}
	for _, status := range statuses() {
		pets, resp, err := p.list("/pets?limit=100&status=" + status)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.status == status && !slices.ContainsFunc(pets, func(listed pet) bool { return listed.id == one.id }) {
				return resp.mismatch(fmt.Sprintf("no id %d, although it is %s", one.id, status), "every animal that is "+status)
			}
		}
	}
	return nil
}

// headLikeGet compares the headers that describe the response, and not the
// exchange.
func (p *probe) headLikeGet(target string) error {
	want, got := p.send(get(target)), p.send(send("HEAD", target))
	if got.err != nil || got.status != want.status {
		return got.is(want.status)
	}
	for _, name := range []string{"Content-Type", "Link", "Location", "Deprecation", "Sunset", "Cache-Control"} {
		if g, w := got.header.Get(name), want.header.Get(name); g != w {
			return got.mismatch(name+": "+quote(g), name+": "+quote(w)+", as GET has")
		}
	}
	return nil
}
