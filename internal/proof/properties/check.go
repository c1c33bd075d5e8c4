package properties

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Service is a running service and its store. A stage that it cannot have, such as the
// restart of a store that keeps nothing, fails with errors.ErrUnsupported.
type Service interface {
	// Create sends the body with the Idempotency-Key and returns the body of the 201.
	Create(body []byte, key string) ([]byte, error)
	Get(id string) ([]byte, error)
	List() ([]byte, error) // all pets, which are fewer than 100

	// Restart ends the service and starts it again on the same store.
	Restart() error

	// Export returns the file of all pets in the format, csv or ndjson. Import returns a
	// new service on a new store with the pets of the file.
	Export(format string) ([]byte, error)
	Import(format string, file []byte) (Service, error)

	// Restored returns a new service on the restored backup of the store.
	Restored() (Service, error)
}

// Loss is a property that a stage does not return as it was sent.
type Loss struct {
	Property, Stage string
	Got, Want       any // nil where there is none
}

func (l Loss) String() string {
	return fmt.Sprintf("%s: got %s in %s, want %s: %s", l.Property, shown(l.Got), l.Stage, shown(l.Want), missing[l.Stage])
}

func shown(value any) string {
	if value == nil {
		return "none"
	}
	return fmt.Sprintf("%.100s", encode(value))
}

// The stages.
const (
	Created      = "the 201"
	Repeated     = "the repeated create"
	Got          = "the get"
	Listed       = "the list"
	ExportCSV    = "the export in CSV"
	ExportNDJSON = "the export in NDJSON"
	ImportCSV    = "the import of CSV"
	ImportNDJSON = "the import of NDJSON"
	Backup       = "the restored backup"
	Restarted    = "the list after a restart"
)

// missing has the step that is missing where a stage is the first to lose a property.
var missing = map[string]string{
	Created:      "it is missing in internal/pets/pet.go or internal/pets/service/convert.go",
	Repeated:     "it is missing in the store's list of columns",
	Got:          "it is missing in the store's list of columns",
	Listed:       "it is missing in the store's list of columns",
	ExportCSV:    "it is missing in the list of columns of internal/pets/files",
	ExportNDJSON: "it is missing in the list of columns of internal/pets/files",
	ImportCSV:    "it is missing in the list of columns of internal/pets/files",
	ImportNDJSON: "it is missing in the list of columns of internal/pets/files",
	Backup:       "it is missing in a migration of the store",
	Restarted:    "it is missing in a migration of the store",
}

// sent is a request, and the pet that every stage must return for it.
type sent struct {
	body map[string]any // the properties of the request
	key  string
	id   string
	want map[string]any
}

// Check sends each property of NewPet with each of its values, absent, and null where
// it may be, and looks for it in every stage. It returns the losses, and the stages that
// the service has.
func Check(document *openapi3.T, s Service) (losses []Loss, stages []string, err error) {
	all, err := Of(document)
	if err != nil {
		return nil, nil, err
	}
	c := &check{service: s, properties: all}
	for i, body := range bodies(all) {
		if err := c.create(body, fmt.Sprintf("key %d", i)); err != nil {
			return nil, nil, err
		}
	}
	for _, stage := range []struct {
		name string
		run  func() ([]map[string]any, error)
	}{
		{Repeated, c.repeated},
		{Got, c.got},
		{Listed, func() ([]map[string]any, error) { return list(s) }},
		{ExportCSV, func() ([]map[string]any, error) { return c.exported("csv") }},
		{ExportNDJSON, func() ([]map[string]any, error) { return c.exported("ndjson") }},
		{ImportCSV, func() ([]map[string]any, error) { return c.imported("csv") }},
		{ImportNDJSON, func() ([]map[string]any, error) { return c.imported("ndjson") }},
		{Backup, c.restored},
		{Restarted, c.restarted},
	} {
		pets, err := stage.run()
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err == nil && len(pets) != len(c.sent) {
			err = fmt.Errorf("got %d pets, want %d", len(pets), len(c.sent))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", stage.name, err)
		}
		c.compare(stage.name, pets)
	}
	return c.losses, c.stages, nil
}

// bodies returns the requests: the required properties alone, each property with each of
// its values beside them, and all properties.
func bodies(all []Property) (bodies []map[string]any) {
	least, most := map[string]any{}, map[string]any{}
	for _, p := range all {
		if most[p.Name] = p.Values[0]; p.Required {
			least[p.Name] = p.Values[0]
		}
	}
	bodies = append(bodies, least, most)
	for _, p := range all {
		values := p.Values
		if p.Nullable {
			values = append(slices.Clip(values), nil)
		}
		for _, value := range values {
			body := maps.Clone(least)
			body[p.Name] = value
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// check is one run of Check.
type check struct {
	service    Service
	properties []Property
	sent       []sent
	losses     []Loss
	stages     []string
}

// create sends a body. The pet of the 201, with the values that were sent and the
// documented defaults, is the pet that later stages must return.
func (c *check) create(body map[string]any, key string) error {
	text, err := c.service.Create(encode(body), key)
	var pet map[string]any
	if err == nil {
		pet, err = object(text)
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", encode(body), err)
	}
	want := maps.Clone(pet)
	maps.Copy(want, body)
	for _, p := range c.properties {
		if _, isSent := body[p.Name]; !isSent && p.Default != nil {
			want[p.Name], err = decode(encode(p.Default))
		}
	}
	c.sent = append(c.sent, sent{body: body, key: key, id: fmt.Sprint(pet["id"]), want: want})
	c.compareOne(Created, pet, want)
	return err
}

func (c *check) repeated() (pets []map[string]any, err error) {
	for _, s := range c.sent {
		text, err := c.service.Create(encode(s.body), s.key)
		if err != nil {
			return nil, err
		}
		if pets, err = appendObject(pets, text); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

func (c *check) got() (pets []map[string]any, err error) {
	for _, s := range c.sent {
		text, err := c.service.Get(s.id)
		if err != nil {
			return nil, err
		}
		if pets, err = appendObject(pets, text); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

func (c *check) restored() ([]map[string]any, error) {
	other, err := c.service.Restored()
	if err != nil {
		return nil, err
	}
	return list(other)
}

func (c *check) restarted() ([]map[string]any, error) {
	if err := c.service.Restart(); err != nil {
		return nil, err
	}
	return list(c.service)
}

func (c *check) exported(format string) ([]map[string]any, error) {
	file, err := c.service.Export(format)
	if err != nil {
		return nil, err
	}
	return rows(format, file)
}

// imported returns the pets of a new store with an import of what was exported. What a
// store makes itself is new there, the identifier for one, and taken as it was.
func (c *check) imported(format string) ([]map[string]any, error) {
	file, err := c.service.Export(format)
	if err != nil {
		return nil, err
	}
	other, err := c.service.Import(format, file)
	if err != nil {
		return nil, err
	}
	pets, err := list(other)
	for i := range min(len(pets), len(c.sent)) {
		pet := maps.Clone(c.sent[i].want)
		for _, p := range c.properties {
			if value, has := pets[i][p.Name]; has {
				pet[p.Name] = value
			} else {
				delete(pet, p.Name)
			}
		}
		pets[i] = pet
	}
	return pets, err
}

func (c *check) compare(stage string, pets []map[string]any) {
	c.stages = append(c.stages, stage)
	for i, s := range c.sent {
		want := s.want
		if stage == ExportCSV {
			want = cells(want, pets[i])
		}
		c.compareOne(stage, pets[i], want)
	}
}

// compareOne notes a property that differs, unless the stage has lost it before.
func (c *check) compareOne(stage string, got, want map[string]any) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		g, has := got[name]
		w, wants := want[name]
		known := slices.ContainsFunc(c.losses, func(l Loss) bool { return l.Property == name && l.Stage == stage })
		if !known && (has != wants || !reflect.DeepEqual(g, w)) {
			c.losses = append(c.losses, Loss{name, stage, g, w})
		}
	}
}
