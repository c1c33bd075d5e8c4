package check

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// maxBody is how many bytes the body of a request may have.
const maxBody = 64 << 10

func adding() []rule {
	rules := []rule{
		{title: "a name and a categoryId are enough: 201", source: "createPet", check: leastPet},
		{title: "id, name and categoryId come back, of their types", source: "Pet", check: createdTypes},
		{title: "the response has what was sent", source: "createPet", check: createdAsSent},
		{title: "the status is available where none is given", source: "Pet", check: createdDefault},
		{title: "each status is kept", source: "PetStatus", check: createdStatuses},
		{title: "the id is from 1 to 2^53-1", source: "Pet", check: createdID},
		{title: "ids ascend", source: "decisions", check: createdAscending},
		{title: "Location is where the animal is, below this address", source: "createPet", check: createdLocation},
		{title: "what was added can be fetched at once", source: "createPet", check: createdIsFetched},
		{title: "what was added is in the list at once", source: "createPet", check: createdIsListed},
	}
	for _, n := range []struct{ title, before, after string }{
		{"a name keeps the spaces around it", "  ", "\t "},
		{"a name keeps characters beyond the basic plane", "", " \U0001F415\u200D\U0001F9BA \U00020BB7"},
		{"a name keeps combining characters as they are", "", " e\u0301 \u00e9 \ufb01"},
		{"a name keeps quotes, backslashes, control characters", "", " \"\\/%s\b\f\n\r\x01\x7f\u2028"},
		{"a name of 1,000 characters is kept", "", strings.Repeat(" and so on", 98)},
	} {
		rules = append(rules, rule{title: n.title, source: "NewPet", check: func(p *probe) error {
			return p.keepsName(n.before + p.mark + n.after)
		}})
	}
	rules = append(
		rules,
		rule{title: "an empty name is a name", source: "NewPet", check: func(p *probe) error { return p.keepsName("") }},
		rule{title: "a name may be sent in escapes", source: "RFC 8259 §7", check: escapedName},
		rule{title: "a categoryId is kept exactly, past 2^53 too", source: "Numbers", check: func(p *probe) error {
			return p.keepsCategories("9007199254740993", "-9007199254740993", "1152921504606846977")
		}},
		rule{title: "a categoryId may be any int64", source: "Numbers", check: func(p *probe) error {
			return p.keepsCategories("0", "-1", "9223372036854775807", "-9223372036854775808")
		}},
		rule{title: "unknown properties are ignored", source: "Evolution", check: func(p *probe) error {
			return p.added(`{"name":NAME,"categoryId":1,"id":-5,"tags":[{"a":null}],"STATUS":"lost","Name":7}`)
		}},
		rule{title: "Application/JSON; charset=utf-8 is JSON", source: "decisions", check: func(p *probe) error {
			r := p.addition(`{"name":NAME,"categoryId":1}`)
			return p.send(r.without("Content-Type").with("Content-Type", "Application/JSON; charset=utf-8")).is(201)
		}},
		rule{title: "a body of 64 KiB is taken", source: "createPet", check: largestBody},
	)
	for i := range rules {
		rules[i].writes = true
	}
	return rules
}

// quote returns s as a JSON string, which is plain ASCII where s is.
func quote(s string) string {
	text, _ := json.Marshal(s) // a string cannot fail
	return string(text)
}

// addition is a request that adds the animal of a template: NAME stands for a
// name that can be recognised.
func (p *probe) addition(template string) request {
	return post(strings.ReplaceAll(template, "NAME", quote(p.mark)))
}

// added checks that the animal of a template is added.
func (p *probe) added(template string) error {
	return p.send(p.addition(template)).is(201)
}

// create adds an animal that the rule needs. Another rule judges the status.
func (p *probe) create(body string) (pet, *response, error) {
	resp := p.send(p.addition(body))
	if resp.err != nil || resp.status/100 != 2 {
		return pet{}, resp, resp.is(201)
	}
	made, err := resp.pet()
	return made, resp, err
}

const frank = `{"name":NAME,"categoryId":1}`

func leastPet(p *probe) error { return p.added(frank) }

func createdTypes(p *probe) error {
	made, resp, err := p.create(`{"name":NAME,"categoryId":7,"status":"sold"}`)
	if err == nil && made.fault() != "" {
		err = resp.mismatch(made.fault(), "id and categoryId integers, name a string")
	}
	return err
}

func createdAsSent(p *probe) error {
	made, resp, err := p.create(`{"name":NAME,"categoryId":-12,"status":"pending"}`)
	if err == nil && (made.name != p.mark || made.category != "-12" || made.status != "pending") {
		err = resp.mismatch(resp.text(), "the name, categoryId and status that were sent")
	}
	return err
}

func createdDefault(p *probe) error {
	made, resp, err := p.create(frank)
	if err == nil && made.status != "available" {
		err = resp.mismatch(resp.text(), `"status":"available"`)
	}
	return err
}

func createdStatuses(p *probe) error {
	for _, status := range statuses() {
		made, resp, err := p.create(`{"name":NAME,"categoryId":1,"status":"` + status + `"}`)
		if err != nil {
			return err
		}
		if made.status != status {
			return resp.mismatch(resp.text(), "the status that was sent, "+status)
		}
	}
	return nil
}

func createdID(p *probe) error {
	made, resp, err := p.create(frank)
	if err == nil && (made.id < 1 || made.id > maxID) {
		err = resp.mismatch(fmt.Sprint("id ", made.id), "an id from 1 to 9007199254740991")
	}
	return err
}

func createdAscending(p *probe) error {
	first, _, err := p.create(frank)
	if err != nil {
		return err
	}
	second, resp, err := p.create(frank)
	if err == nil && second.id <= first.id {
		err = resp.mismatch(fmt.Sprint("id ", second.id), fmt.Sprint("an id greater than that of the one before, ", first.id))
	}
	return err
}

// createdLocation checks that Location leads to the animal, also through a proxy
// before the server.
func createdLocation(p *probe) error {
	made, resp, err := p.create(frank)
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%s/pets/%d", p.Base, made.id)
	location, ok := resp.sole("Location")
	if !ok || p.resolve("/pets", location) != want {
		return resp.mismatch(resp.line("Location"), "Location: "+want+", absolute or as a path")
	}
	return nil
}

// resolve returns the address of a link in a response to target.
func (p *probe) resolve(target, link string) string {
	base, err := url.Parse(p.Base.String() + target)
	if err != nil {
		return link
	}
	to, err := base.Parse(link)
	if err != nil {
		return link
	}
	return to.String()
}

func createdIsFetched(p *probe) error {
	made, _, err := p.create(frank)
	if err != nil {
		return err
	}
	resp := p.send(get(fmt.Sprint("/pets/", made.id)))
	if err := resp.is(200); err != nil {
		return err
	}
	got, err := resp.pet()
	if err == nil && !got.same(made) {
		err = resp.mismatch(resp.text(), "the animal as it was when it was added")
	}
	return err
}

func createdIsListed(p *probe) error {
	made, _, err := p.create(frank)
	if err != nil {
		return err
	}
	pets, resp, err := p.list(fmt.Sprint("/pets?limit=1&after=", made.id-1))
	if err == nil && (len(pets) == 0 || !pets[0].same(made)) {
		err = resp.mismatch(resp.text(), fmt.Sprintf("the animal just added, with id %d", made.id))
	}
	return err
}

// keepsName checks that a name comes back code point for code point, from the
// list too.
func (p *probe) keepsName(name string) error {
	made, resp, err := p.create(`{"name":` + quote(name) + `,"categoryId":1}`)
	if err == nil && made.name != name {
		err = resp.mismatch("name "+quote(made.name), "name "+quote(name))
	}
	if err != nil {
		return err
	}
	pets, resp, err := p.list(fmt.Sprint("/pets?limit=1&after=", made.id-1))
	if err == nil && len(pets) > 0 && pets[0].id == made.id && pets[0].name != name {
		err = resp.mismatch(resp.text(), "name "+quote(name))
	}
	return err
}

func escapedName(p *probe) error {
	made, resp, err := p.create(`{"na\u006de":"` + p.mark + ` \uD83D\uDC15\u00e9\/","categoryId":1}`)
	if want := p.mark + " \U0001F415é/"; err == nil && made.name != want {
		err = resp.mismatch("name "+quote(made.name), "name "+quote(want))
	}
	return err
}

func (p *probe) keepsCategories(categories ...string) error {
	for _, category := range categories {
		made, resp, err := p.create(`{"name":NAME,"categoryId":` + category + `}`)
		if err != nil {
			return err
		}
		if made.category != category {
			return resp.mismatch("categoryId "+made.category, "categoryId "+category)
		}
	}
	return nil
}

// largestBody pads with spaces, so that the list of animals stays readable.
func largestBody(p *probe) error {
	return p.send(p.addition(frank).padded(maxBody)).is(201)
}
