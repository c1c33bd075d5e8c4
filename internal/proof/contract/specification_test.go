package contract

import (
	"bytes"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/gen"
)

// specification is the contract as it was given. It never changes.
//
//go:embed specification.yaml
var specification []byte

// TestSpecification tests that openapi.yaml renames, retypes and removes nothing
// in the specification.
func TestSpecification(t *testing.T) {
	for _, missing := range compare(t, gen.Document) {
		t.Error(missing)
	}
}

// TestSpecificationChanged tests that the comparison finds changes.
func TestSpecificationChanged(t *testing.T) {
	for _, c := range []struct{ old, by, want string }{
		{"/pets/{petId}:", "/animals/{petId}:", "paths./pets/{petId}: missing"},
		{"operationId: getPet", "operationId: fetchPet", "operationId: got fetchPet, want getPet"},
		{"        '404':", "        '410':", "responses.404: missing"},
		{"'201': {$ref", "'200': {$ref", "responses.201: missing"},
		{"maximum: 100\n", "maximum: 50\n", "schema.maximum: got 50, want 100"},
		{"default: 20", "default: 10", "schema.default: got 10, want 20"},
		{"- name: status\n", "- name: state\n", "parameters.status: missing"},
		{"enum: [available, pending, sold]", "enum: [available, sold]", "enum: got [available sold]"},
		{"required: [name, categoryId]", "required: [name, categoryId, status]", "NewPet.required: got [name categoryId status]"},
		{"required: [id, name, categoryId]", "required: [id, name]", "Pet.required: got [id name]"},
		{"        categoryId:\n          x-order: 3\n          type: integer", "        categoryId:\n          x-order: 3\n          type: string", "categoryId.type: got string, want integer"},
		{"        id:\n          x-order: 1\n          type: integer\n          format: int64", "        id:\n          x-order: 1\n          type: integer\n          format: int32", "id.format: got int32, want int64"},
		{"        message:\n", "        text:\n", "message: missing"},
		{"scheme: bearer", "scheme: basic", "scheme: got basic, want bearer"},
		{"deprecated: true", "deprecated: false", "deprecated: got false, want true"},
		{"x-sunset: '2030-12-05'", "x-sunset: '2031-12-05'", "x-sunset: got 2031-12-05"},
		{"empty.\n          required: false", "empty.\n          required: true", "parameters.after: got required"},
		{"items: {$ref: '#/components/schemas/Pet'}", "items: {$ref: '#/components/schemas/NewPet'}", "Pets.items.$ref"},
		{"`base_url`", "the base", "base_url: got no server"},
	} {
		changed := bytes.Replace(gen.Document, []byte(c.old), []byte(c.by), 1)
		if bytes.Equal(changed, gen.Document) {
			t.Errorf("%q: got no such text in openapi.yaml, want it to replace", c.old)
			continue
		}
		if got := strings.Join(compare(t, changed), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.by, got, c.want)
		}
	}
}

// comparison walks two documents at once.
type comparison struct {
	root    map[string]any // the root of the compared document, to resolve references
	missing []string
}

// compare returns how document differs from the specification.
func compare(t *testing.T, document []byte) []string {
	t.Helper()
	var want, got map[string]any
	if err := yaml.Unmarshal(specification, &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	c := comparison{root: got}
	for i, name := range []string{"base_url", "staging_base_url"} {
		servers, _ := got["servers"].([]any)
		if i >= len(servers) || !strings.Contains(fmt.Sprint(servers[i]), "`"+name+"`") {
			c.missing = append(c.missing, name+": got no server with this name in its description")
		}
	}
	c.walk("", want, got)
	return c.missing
}

func (c *comparison) add(path, format string, args ...any) {
	c.missing = append(c.missing, strings.TrimPrefix(path, ".")+": "+fmt.Sprintf(format, args...))
}

// texts are properties for human readers, which may be worded differently.
var texts = []string{"description", "summary", "title"}

func (c *comparison) walk(path string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			c.add(path, "got %v, want an object", got)
			return
		}
		if _, isRef := want["$ref"]; !isRef {
			object = c.resolve(object)
		}
		for name, value := range want {
			switch there, ok := object[name]; {
			case slices.Contains(texts, name):
			case !ok && name == "required" && value == false:
			case !ok:
				c.add(path+"."+name, "missing")
			default:
				c.walk(path+"."+name, value, there)
			}
		}
	case []any:
		if list, ok := got.([]any); ok && strings.HasSuffix(path, ".parameters") {
			c.parameters(path, want, list)
		} else if list, ok := got.([]any); !ok || len(list) != len(want) {
			c.add(path, "got %v, want %v", got, want)
		} else {
			for i := range want {
				c.walk(path, want[i], list[i])
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			c.add(path, "got %v, want %v", got, want)
		}
	}
}

// parameters compares parameters by name. The document may add optional ones.
func (c *comparison) parameters(path string, want, got []any) {
	byName := map[any]map[string]any{}
	for _, p := range got {
		p := c.resolve(p.(map[string]any))
		byName[p["name"]] = p
	}
	for _, p := range want {
		p := p.(map[string]any)
		there, ok := byName[p["name"]]
		if name := fmt.Sprintf("%s.%v", path, p["name"]); ok {
			c.walk(name, p, there)
		} else {
			c.add(name, "missing")
		}
		delete(byName, p["name"])
	}
	for name, p := range byName {
		if p["required"] == true {
			c.add(fmt.Sprintf("%s.%v", path, name), "got required, want new parameters to be optional")
		}
	}
}

// resolve follows the reference if object is one.
func (c *comparison) resolve(object map[string]any) map[string]any {
	ref, ok := object["$ref"].(string)
	if !ok {
		return object
	}
	node := c.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node, _ = node[name].(map[string]any)
	}
	return node
}

// overdue returns the deprecated operations whose sunset date is past at now.
func overdue(t *testing.T, now time.Time) (ids []string) {
	t.Helper()
	document, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			if sunset := date(o, "x-sunset"); o.Deprecated && now.After(sunset) {
				ids = append(ids, o.OperationID)
			}
		}
	}
	return ids
}

// TestSunset fails if an operation still exists after its sunset date, or if a
// deprecated operation has no such date.
func TestSunset(t *testing.T) {
	for _, id := range overdue(t, time.Now()) {
		t.Errorf("%s: got past its x-sunset, want it removed from openapi.yaml", id)
	}
	if got := overdue(t, time.Date(2030, 12, 6, 0, 0, 0, 0, time.UTC)); !slices.Contains(got, "getPet") {
		t.Errorf("on 6 December 2030: got %v, want getPet", got)
	}
}
