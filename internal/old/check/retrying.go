package check

import (
	"fmt"
	"strings"
	"sync"
)

// atOnce is how many requests with one key are sent at the same time.
const atOnce = 16

func retrying() []rule {
	rules := []rule{
		{title: "the same Idempotency-Key and animal: the same 201", source: "Safe retries", check: sameKeySamePet},
		{title: "a key in quotes is the same as without them", source: "Idempotency-Key", check: func(p *probe) error {
			return p.sameAnimal(p.keyed("quoted", frank), p.keyed(`"`+p.idempotencyKey("quoted")+`"`, frank))
		}},
		{title: "a default that is spelled out is the same animal", source: "Idempotency-Key", check: func(p *probe) error {
			return p.sameAnimal(p.keyed("default", frank), p.keyed("default", `{"status":"available","categoryId":1,"name":NAME}`))
		}},
		{title: "the same key with another animal is 422", source: "IdempotencyKeyReused", check: reusedKey},
		{title: fmt.Sprintf("%d requests at once with one key make one animal", atOnce), source: "Safe retries", check: keyAtOnce},
		{title: "another key makes another animal", source: "Safe retries", check: func(p *probe) error {
			return p.otherAnimal(p.keyed("one", frank), p.keyed("other", frank))
		}},
		{title: "without a key every request makes an animal", source: "Safe retries", check: func(p *probe) error {
			return p.otherAnimal(p.addition(frank), p.addition(frank))
		}},
		{title: "a key of 255 characters is taken", source: "Idempotency-Key", check: func(p *probe) error {
			return p.send(p.keyed(p.longKey(255), frank)).is(201)
		}},
		{title: "a key of 256 characters is 400", source: "Idempotency-Key", check: func(p *probe) error {
			return p.send(p.refusal(frankRefused).with("Idempotency-Key", p.longKey(256))).is(400)
		}},
		{title: "an empty key is 400", source: "Idempotency-Key", check: func(p *probe) error {
			r := p.refusal(frankRefused)
			return responds(400, r.with("Idempotency-Key", ""), r.with("Idempotency-Key", `""`))(p)
		}},
		{title: "two keys, or a comma in a bare one, are 400", source: "Idempotency-Key", check: func(p *probe) error {
			r, key := p.refusal(frankRefused), p.idempotencyKey("two")
			return responds(400, r.with("Idempotency-Key", key).with("Idempotency-Key", key), r.with("Idempotency-Key", key+","+key))(p)
		}},
	}
	for i := range rules {
		rules[i].writes = true
	}
	return rules
}

// idempotencyKey returns a key of this check's own.
func (p *probe) idempotencyKey(name string) string {
	return strings.ReplaceAll(p.mark, " ", "-") + "-" + name
}

func (p *probe) longKey(length int) string {
	key := p.idempotencyKey(fmt.Sprint(length, "-"))
	return key + strings.Repeat("x", length-len(key))
}

// keyed is an addition with an idempotency key: a whole one, or its name in this
// check.
func (p *probe) keyed(key, template string) request {
	if !strings.Contains(key, p.idempotencyKey("")) {
		key = p.idempotencyKey(key)
	}
	return p.addition(template).with("Idempotency-Key", key)
}

func sameKeySamePet(p *probe) error {
	r := p.keyed("same", frank)
	if err := p.sameAnimal(r, r); err != nil {
		return err
	}
	return p.send(r).is(201)
}

// both adds two animals and returns the second response.
func (p *probe) both(one, other request) (first, second pet, resp *response, err error) {
	resp = p.send(one)
	if first, err = resp.pet(); err != nil {
		return
	}
	resp = p.send(other)
	second, err = resp.pet()
	return
}

func (p *probe) sameAnimal(one, other request) error {
	first, second, resp, err := p.both(one, other)
	if err == nil && !first.same(second) {
		err = resp.mismatch(resp.text(), fmt.Sprintf("the animal of the request before, with id %d", first.id))
	}
	return err
}

func (p *probe) otherAnimal(one, other request) error {
	first, second, resp, err := p.both(one, other)
	if err == nil && first.id == second.id {
		err = resp.mismatch(resp.text(), fmt.Sprintf("another animal than that of the request before, with id %d", first.id))
	}
	return err
}

func reusedKey(p *probe) error {
	if _, err := p.send(p.keyed("reused", frank)).pet(); err != nil {
		return err
	}
	for _, other := range []string{
		`{"name":"MARK another","categoryId":1}`, `{"name":NAME,"categoryId":2}`, `{"name":NAME,"categoryId":1,"status":"sold"}`,
	} {
		r := p.keyed("reused", strings.ReplaceAll(other, "MARK", p.mark))
		if err := p.send(r).is(422); err != nil {
			return err
		}
	}
	return nil
}

func keyAtOnce(p *probe) error {
	r := p.keyed("at-once", frank)
	responses := make([]*response, atOnce)
	var wg sync.WaitGroup
	for i := range responses {
		wg.Go(func() { responses[i] = p.send(r) })
	}
	wg.Wait()
	ids := map[int64]bool{}
	for _, resp := range responses {
		made, err := resp.pet()
		if err != nil {
			return err
		}
		if ids[made.id] = true; len(ids) > 1 {
			return resp.mismatch("different animals", "one animal for all of the requests")
		}
	}
	return nil
}
