package properties_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
	"example.com/petstore/internal/proof/properties"
)

// madeUp is a document with properties of every kind, which NewPet may have one day.
const madeUp = `
openapi: 3.0.3
info: {title: made up, version: '1'}
paths: {}
components:
  schemas:
    NewPet:
      properties:
        color: {type: string, minLength: 1, maxLength: 40}
        coat: {type: string, enum: [short, long, none], default: short}
        chip: {type: string, pattern: '^[0-9]{15}$'}
        born: {type: string, format: date, nullable: true}
        vaccinated: {type: boolean, default: false}
        legs: {type: integer, format: int32, minimum: 0, maximum: 8, default: 4}
        weight: {type: number, minimum: 0.5, maximum: 900, nullable: true}
        secret: {type: string, writeOnly: true}
`

// document returns openapi.yaml with the properties made up.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	d, err := loader.LoadFromData(gen.Document)
	if err != nil {
		t.Fatal(err)
	}
	added, err := loader.LoadFromData([]byte(madeUp))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(d.Components.Schemas["NewPet"].Value.Properties, added.Components.Schemas["NewPet"].Value.Properties)
	return d
}

// fake is a service that returns what it was sent, but for one property at one stage.
type fake struct {
	pets         []map[string]any
	made         map[string]int // where in pets, by idempotency key
	loses, stage string
	restarted    bool
}

func (f *fake) at(stage string, pet map[string]any) map[string]any {
	pet = maps.Clone(pet)
	if f.stage == stage {
		delete(pet, f.loses)
	}
	return pet
}

func (f *fake) all(stage string) []map[string]any {
	pets := []map[string]any{}
	for _, pet := range f.pets {
		pets = append(pets, f.at(stage, pet))
	}
	return pets
}

func (f *fake) Create(body []byte, key string) ([]byte, error) {
	if i, repeats := f.made[key]; repeats {
		return json.Marshal(f.at(properties.Repeated, f.pets[i]))
	}
	pet := map[string]any{"status": "available", "coat": "short", "vaccinated": false, "legs": 4}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&pet); err != nil {
		return nil, err
	}
	f.made[key] = len(f.pets)
	f.pets = append(f.pets, pet)
	pet["id"] = len(f.pets)
	return json.Marshal(f.at(properties.Created, pet))
}

func (f *fake) Get(id string) ([]byte, error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, err
	}
	return json.Marshal(f.at(properties.Got, f.pets[n-1]))
}

func (f *fake) List() ([]byte, error) {
	if f.restarted {
		return json.Marshal(f.all(properties.Restarted))
	}
	return json.Marshal(f.all(properties.Listed))
}

func (f *fake) Export(format string) ([]byte, error) {
	var file bytes.Buffer
	if format == "ndjson" {
		for _, pet := range f.all(properties.ExportNDJSON) {
			if err := json.NewEncoder(&file).Encode(pet); err != nil {
				return nil, err
			}
		}
		return file.Bytes(), nil
	}
	header := []string{"id", "name", "categoryId", "status", "color", "coat", "chip", "born", "vaccinated", "legs", "weight"}
	w := csv.NewWriter(&file)
	records := [][]string{header}
	for _, pet := range f.all(properties.ExportCSV) {
		var record []string
		for _, name := range header {
			cell := ""
			if pet[name] != nil {
				cell = fmt.Sprint(pet[name])
			}
			record = append(record, cell)
		}
		records = append(records, record)
	}
	err := w.WriteAll(records)
	return file.Bytes(), err
}

// other returns a service on another store, which has lost the property at the stage.
func (f *fake) other(stage string) (properties.Service, error) {
	return &fake{pets: f.all(stage)}, nil
}

func (f *fake) Import(format string, _ []byte) (properties.Service, error) {
	return f.other(map[string]string{"csv": properties.ImportCSV, "ndjson": properties.ImportNDJSON}[format])
}

func (f *fake) Restored() (properties.Service, error) { return f.other(properties.Backup) }

func (f *fake) Restart() error {
	f.restarted = true
	return nil
}

var stages = []string{
	properties.Created, properties.Repeated, properties.Got, properties.Listed, properties.ExportCSV, properties.ExportNDJSON,
	properties.ImportCSV, properties.ImportNDJSON, properties.Backup, properties.Restarted,
}

func TestAServiceThatKeepsEveryPropertyLosesNone(t *testing.T) {
	losses, ran, err := properties.Check(document(t), &fake{made: map[string]int{}})
	if err != nil || len(losses) > 0 {
		t.Errorf("losses: got %v (%v), want none", losses, err)
	}
	if !slices.Equal(ran, stages[1:]) {
		t.Errorf("stages beside the 201: got %q, want %q", ran, stages[1:])
	}
}

func TestAPropertyThatIsLostAtAStageIsNamedWithTheStage(t *testing.T) {
	for _, stage := range stages {
		t.Run(stage, func(t *testing.T) {
			for _, name := range []string{"name", "color", "coat", "chip", "born", "vaccinated", "legs", "weight"} {
				losses, _, err := properties.Check(document(t), &fake{made: map[string]int{}, loses: name, stage: stage})
				if err != nil {
					t.Fatal(err)
				}
				if len(losses) != 1 || losses[0].Property != name || losses[0].Stage != stage {
					t.Errorf("%s lost in %s: got %v, want that alone", name, stage, losses)
				}
			}
		})
	}
}

// dropping is a service that knows nothing of a property: it accepts and ignores it.
type dropping struct {
	*fake
	name string
}

func (d dropping) Create(body []byte, key string) ([]byte, error) {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return nil, err
	}
	delete(properties, d.name)
	body, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	return d.fake.Create(body, key)
}

// Restart cannot be had.
func (d dropping) Restart() error { return errors.ErrUnsupported }

func TestAPropertyThatTheServiceDoesNotKnowIsLostAtEveryStage(t *testing.T) {
	losses, ran, err := properties.Check(document(t), dropping{&fake{made: map[string]int{}}, "color"})
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, l := range losses {
		if l.Property != "color" {
			t.Errorf("losses: got %v, want none but that of color", l)
		}
		lost = append(lost, l.Stage)
	}
	want := stages[:len(stages)-1]
	if !slices.Equal(lost, want) || !slices.Equal(ran, want[1:]) {
		t.Errorf("lost in: got %q of %q, want every stage but the restart", lost, ran)
	}
}

func TestEveryValueIsOneThatTheSchemaAcceptsAndNotTheDefault(t *testing.T) {
	d := document(t)
	all, err := properties.Of(d)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]properties.Property{}
	for _, p := range all {
		found[p.Name] = p
		schema := d.Components.Schemas["NewPet"].Value.Properties[p.Name].Value
		for _, value := range p.Values {
			if err := schema.VisitJSON(value); err != nil {
				t.Errorf("%s: got the value %v, want one that its schema accepts: %v", p.Name, value, err)
			}
		}
	}
	if _, has := found["secret"]; has {
		t.Error("secret: got it among the properties, want a writeOnly property left out")
	}
	for name, want := range map[string]string{
		"color":      "40 characters",
		"coat":       "[long none]",
		"vaccinated": "[true]",
		"legs":       "[8 0 7 1]",
		"categoryId": "[1 9223372036854775807 -9223372036854775808 9223372036854775806]",
		"born":       "[2031-12-30]",
	} {
		got := fmt.Sprint(found[name].Values)
		if name == "color" {
			got = fmt.Sprintf("%d characters", len([]rune(found[name].Values[1].(string))))
		}
		if got != want {
			t.Errorf("values of %s: got %s, want %s", name, got, want)
		}
	}
}

func TestASchemaWithoutAValueToSendIsNamed(t *testing.T) {
	d := document(t)
	d.Components.Schemas["NewPet"].Value.Properties["size"] = openapi3.NewSchemaRef("", openapi3.NewObjectSchema())
	if _, err := properties.Of(d); err == nil || err.Error() != "size of NewPet: got no value that its schema accepts and that is not its default; give it an example in openapi.yaml" {
		t.Errorf("a property that is an object: got %v, want a sentence that asks for an example", err)
	}
}
