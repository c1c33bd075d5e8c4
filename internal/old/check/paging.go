package check

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

func paging() []rule {
	return []rule{
		{title: "after gives greater ids only", source: "after", check: afterIsExclusive},
		{title: "after gives the very next one", source: "after", check: afterSkipsNone},
		{title: "past the end the list is []", source: "after", check: func(p *probe) error {
			pets, resp, err := p.list("/pets?after=" + noAnimal)
			if err == nil && len(pets) > 0 {
				err = resp.mismatch(resp.text(), "[]")
			}
			return err
		}},
		{title: "after=0 is the beginning", source: "after", check: responds(200, get("/pets?after=0&limit=1"))},
		{title: "after below 0 is 400", source: "after", check: responds(400, get("/pets?after=-1"))},
		{title: "after that is no int64 is 400", source: "after", check: responds(400,
			get("/pets?after=abc"), get("/pets?after=1.5"), get("/pets?after=9223372036854775808"))},
		{title: "an empty after is 400", source: "decisions", check: responds(400, get("/pets?after="))},
		{title: "after given twice is 400", source: "decisions", check: responds(400, get("/pets?after=1&after=1"))},
		{title: `where more follow, Link has rel="next"`, source: "listPets", check: linked},
		{title: "the next link leads to this address", source: "RFC 8288 §3", check: linkLeadsHere},
		{title: "the next link keeps limit", source: "listPets", check: linkKeeps("limit", "1")},
		{title: "the next link keeps status", source: "listPets", check: linkKeeps("status", "")},
		{title: "the last page has no next link", source: "listPets", check: func(p *probe) error {
			resp := p.send(get("/pets?after=" + noAnimal))
			if next, ok := resp.next(); resp.err != nil || ok {
				return resp.mismatch("Link: "+next, "no Link")
			}
			return nil
		}},
		{title: "a walk over the pages meets no animal twice", source: "listPets", check: walkMeetsOnce},
		{title: "a walk leaves out none of a greater page's", source: "listPets", check: walkMeetsAll},
		{title: "a walk meets what was added before it", source: "listPets", writes: true, check: walkMeetsOwn},
		{title: "a walk comes to an end", source: "listPets", writes: true, check: walkEnds},
	}
}

var nextLink = regexp.MustCompile(`<([^>]*)>[^,<]*;\s*rel="?next"?`)

// next returns the target of the link to the next page (RFC 8288).
func (resp *response) next() (target string, ok bool) {
	match := nextLink.FindStringSubmatch(strings.Join(resp.header.Values("Link"), ", "))
	if match == nil {
		return "", false
	}
	return match[1], true
}

// middle returns an id on the first page that has neighbours.
func (p *probe) middle() (before, next int64, err error) {
	pets, _, err := p.sample()
	if err != nil {
		return 0, 0, err
	}
	if len(pets) < 2 {
		return 0, 0, unchecked("needs two animals")
	}
	i := (len(pets) - 1) / 2
	return pets[i].id, pets[i+1].id, nil
}

func afterIsExclusive(p *probe) error {
	id, _, err := p.middle()
	if err != nil {
		return err
	}
	pets, resp, err := p.list(fmt.Sprint("/pets?after=", id))
	for _, listed := range pets {
		if listed.id <= id {
			return resp.mismatch(fmt.Sprint("id ", listed.id), fmt.Sprint("ids greater than ", id))
		}
	}
	return err
}

func afterSkipsNone(p *probe) error {
	id, next, err := p.middle()
	if err != nil {
		return err
	}
	pets, resp, err := p.list(fmt.Sprint("/pets?limit=100&after=", id))
	if err == nil && !slices.ContainsFunc(pets, func(listed pet) bool { return listed.id == next }) {
		err = resp.mismatch(resp.text(), fmt.Sprintf("the animal with id %d among them", next))
	}
	return err
}

// firstOfTwo asks for a page that another must follow.
func (p *probe) firstOfTwo(query string) (*response, error) {
	if _, _, err := p.middle(); err != nil {
		return nil, err
	}
	resp := p.send(get("/pets?limit=1" + query))
	return resp, resp.is(200)
}

func linked(p *probe) error {
	resp, err := p.firstOfTwo("")
	if err != nil {
		return err
	}
	if _, ok := resp.next(); !ok {
		return resp.mismatch("Link: "+quote(resp.header.Get("Link")), `a Link with rel="next"`)
	}
	return nil
}

// nextOf returns the query of the link in a response. Another rule judges whether
// there is a link.
func (p *probe) nextOf(resp *response) (target string, query url.Values, err error) {
	next, ok := resp.next()
	if !ok {
		return "", nil, unchecked("needs a link to the next page")
	}
	target = p.resolve("/pets", next)
	u, err := url.Parse(target)
	if err != nil {
		return "", nil, resp.mismatch("Link: "+next, "a link that can be followed")
	}
	return target, u.Query(), nil
}

func linkLeadsHere(p *probe) error {
	resp, err := p.firstOfTwo("")
	if err != nil {
		return err
	}
	target, _, err := p.nextOf(resp)
	if here := p.Base.String() + "/pets?"; err == nil && !strings.HasPrefix(target, here) {
		err = resp.mismatch("Link to "+target, "a link that leads to "+here+"…, since clients follow it")
	}
	return err
}

// linkKeeps returns a check that the link has the parameter. Without a value it
// takes a status that two animals have.
func linkKeeps(name, value string) func(*probe) error {
	return func(p *probe) error {
		query, want := "", value
		if name == "status" {
			if want = p.commonStatus(); want == "" {
				return unchecked("needs two animals of one status")
			}
			query = "&status=" + want
		}
		resp, err := p.firstOfTwo(query)
		if err != nil {
			return err
		}
		_, got, err := p.nextOf(resp)
		if err == nil && got.Get(name) != want {
			err = resp.mismatch("Link: "+resp.header.Get("Link"), "a link with "+name+"="+want)
		}
		return err
	}
}

// commonStatus returns a status of two animals on the first page, or "".
func (p *probe) commonStatus() string {
	pets, _, _ := p.sample() // an error gives no animals
	counts := map[string]int{}
	for _, listed := range pets {
		if counts[listed.status]++; counts[listed.status] == 2 {
			return listed.status
		}
	}
	return ""
}

// walk is the beginning of a walk, and the number of pages after which it ends.
type walk struct {
	limit int
	after int64
	pages int
}

// walk follows the links and calls page with each page. It takes only the query of
// a link, so that no link leads to another host.
func (p *probe) walk(w walk, page func([]pet, *response) error) error {
	target := fmt.Sprintf("/pets?limit=%d&after=%d", w.limit, w.after)
	for range w.pages {
		pets, resp, err := p.list(target)
		if err != nil {
			return err
		}
		if err := page(pets, resp); err != nil {
			return err
		}
		next, ok := resp.next()
		if !ok {
			return nil
		}
		u, err := url.Parse(next)
		if err != nil {
			return resp.mismatch("Link: "+next, "a link that can be followed")
		}
		target = "/pets?" + u.RawQuery
	}
	return nil
}

// short is a walk over the first page's animals in smaller steps.
func short() walk { return walk{limit: 7, pages: 15} }

func walkMeetsOnce(p *probe) error {
	if _, _, err := p.middle(); err != nil {
		return err
	}
	met := map[int64]bool{}
	return p.walk(short(), func(pets []pet, resp *response) error {
		for _, listed := range pets {
			if met[listed.id] {
				return resp.mismatch(fmt.Sprintf("id %d a second time", listed.id), "each animal once")
			}
			met[listed.id] = true
		}
		return nil
	})
}

func walkMeetsAll(p *probe) error {
	all, _, err := p.sample()
	if err != nil {
		return err
	}
	met, pages, last := map[int64]bool{}, 0, (*response)(nil)
	err = p.walk(short(), func(pets []pet, resp *response) error {
		pages, last = pages+1, resp
		for _, listed := range pets {
			met[listed.id] = true
		}
		return nil
	})
	if err != nil || pages < 2 {
		return orUnchecked(err, "needs more than a page of 7 animals")
	}
	for _, one := range all {
		if !met[one.id] {
			return last.mismatch(fmt.Sprintf("no id %d in a walk with limit=7", one.id), "every animal that GET /pets?limit=100 has")
		}
	}
	return nil
}

// orUnchecked returns err or, where that is nil, the reason that nothing was
// checked.
func orUnchecked(err error, why string) error {
	if err != nil {
		return err
	}
	return unchecked(why)
}

func walkMeetsOwn(p *probe) error {
	if len(p.made) == 0 {
		return unchecked("needs an animal that was added")
	}
	met, last := map[int64]bool{}, (*response)(nil)
	err := p.walk(walk{limit: 100, after: p.firstOwn - 1, pages: 20}, func(pets []pet, resp *response) error {
		last = resp
		for _, listed := range pets {
			met[listed.id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id := range p.made {
		if !met[id] {
			return last.mismatch(fmt.Sprintf("no id %d, although it was added", id), "every animal acknowledged before the walk began")
		}
	}
	return nil
}

func walkEnds(p *probe) error {
	if len(p.made) == 0 {
		return unchecked("needs an animal that was added")
	}
	const pages = 20
	n, last := 0, (*response)(nil)
	err := p.walk(walk{limit: 100, after: p.firstOwn - 1, pages: pages}, func(_ []pet, resp *response) error {
		n, last = n+1, resp
		return nil
	})
	if err != nil {
		return err
	}
	if _, more := last.next(); more {
		return last.mismatch(fmt.Sprintf("a link to the next page on page %d", n), "an end soon after the animals this check has added")
	}
	return nil
}
