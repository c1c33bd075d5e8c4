package check

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxID is the greatest id: the last integer that JavaScript keeps whole.
const maxID = 1<<53 - 1

func statuses() []string { return []string{"available", "pending", "sold"} }

// pet is an animal as far as it can be read. Reading forgives wrong types, so that
// such a fault of a server fails only the rule that is named for it.
type pet struct {
	id       int64
	name     string
	category string // the number, in the fewest digits
	status   string
	raw      map[string]json.RawMessage
}

// same reports whether two animals are the same one, unchanged.
func (p pet) same(q pet) bool {
	return p.id == q.id && p.name == q.name && p.category == q.category && p.status == q.status
}

func readPet(raw json.RawMessage) (p pet, ok bool) {
	if decode(raw, &p.raw) != nil {
		return pet{}, false
	}
	id, err := strconv.ParseInt(number(p.raw["id"]), 10, 64)
	_ = json.Unmarshal(p.raw["name"], &p.name) // of another type: judged by fault
	_ = json.Unmarshal(p.raw["status"], &p.status)
	p.id, p.category = id, number(p.raw["categoryId"])
	return p, err == nil
}

// number returns the digits of an integer, however it is written: 7 for 7.0 and
// for "7".
func number(raw json.RawMessage) string {
	text := strings.Trim(string(raw), `"`)
	if f, err := strconv.ParseFloat(text, 64); err != nil || f < -1e30 || f > 1e30 || len(text) > 40 {
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() {
		return r.Num().String()
	}
	return text
}

var integer = regexp.MustCompile(`^(?:0|-?[1-9][0-9]*)$`)

// isInteger reports whether text is a JSON number that is an int64, written as
// an integer.
func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && integer.MatchString(text)
}

// fault names the first field of an animal that is missing or of the wrong type, or
// returns "". The status has a rule of its own.
func (p pet) fault() string {
	for _, name := range []string{"id", "name", "categoryId"} {
		raw, ok := p.raw[name]
		text := strings.TrimSpace(string(raw))
		var s *string
		switch {
		case !ok:
			return "an animal without " + name
		case name == "name" && (json.Unmarshal(raw, &s) != nil || s == nil):
			return "name " + text
		case name != "name" && !isInteger(text):
			return name + " " + text
		}
	}
	return ""
}

// statusFault returns the fault of an animal's status, or "".
func (p pet) statusFault() string {
	raw, ok := p.raw["status"]
	switch {
	case !ok:
		return "an animal without status"
	case !slices.Contains(statuses(), p.status):
		return "status " + string(raw)
	}
	return ""
}

// pet reads the body as an animal.
func (resp *response) pet() (pet, error) {
	if resp.err == nil {
		if p, ok := readPet(resp.body); ok {
			return p, nil
		}
	}
	return pet{}, resp.mismatch(resp.text(), "an animal")
}

// pets reads the body as a list of animals.
func (resp *response) pets() ([]pet, error) {
	var items []json.RawMessage
	if resp.err != nil || decode(resp.body, &items) != nil || items == nil {
		return nil, resp.mismatch(resp.text(), "an array of animals")
	}
	pets := make([]pet, len(items))
	for i, item := range items {
		var ok bool
		if pets[i], ok = readPet(item); !ok {
			return nil, resp.mismatch(string(item), "an animal")
		}
	}
	return pets, nil
}

// list asks for a page that must succeed.
func (p *probe) list(target string) ([]pet, *response, error) {
	resp := p.send(get(target))
	if err := resp.is(200); err != nil {
		return nil, resp, err
	}
	pets, err := resp.pets()
	return pets, resp, err
}

// page is a page of the list, as it came.
type page struct {
	pets     []pet
	response *response
	err      error
}

// sample returns the first page of a hundred, asked for once, and not checked
// where it is empty.
func (p *probe) sample() ([]pet, *response, error) {
	if p.page == nil {
		p.page = &page{}
		p.page.pets, p.page.response, p.page.err = p.list("/pets?limit=100")
	}
	if p.page.err == nil && len(p.page.pets) == 0 {
		return nil, nil, unchecked("the list is empty; --write adds animals")
	}
	return p.page.pets, p.page.response, p.page.err
}
