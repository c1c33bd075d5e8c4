package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// next returns a sentence for each operation and property that lacks a step, in the
// tree at root.
func next(root string) (sentences []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	copied, err := os.ReadFile(filepath.Join(root, "gen/api/openapi.yaml"))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, copied) {
		return []string{"openapi.yaml has changed since gen/ was made: run make generate."}, nil
	}
	d, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	t := tree{root: root}
	for _, path := range slices.Sorted(maps.Keys(d.Paths.Map())) {
		item := d.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(item)) {
			sentences = append(sentences, t.operation(item[method].OperationID, method, path))
		}
	}
	request, response := d.Components.Schemas["NewPet"].Value, d.Components.Schemas["Pet"].Value
	for _, name := range slices.Sorted(maps.Keys(request.Properties)) {
		if _, returned := response.Properties[name]; !returned && !request.Properties[name].Value.WriteOnly {
			sentences = append(sentences, fmt.Sprintf("%s of NewPet is never returned: describe it in Pet of openapi.yaml too, or make it writeOnly.", name))
			continue
		}
		sentences = append(sentences, t.property(name))
	}
	for _, field := range t.fields("internal/pets/pet.go", "NewPet") {
		isField := func(name string) bool { return strings.EqualFold(name, field) }
		if field != "Idempotency" && !slices.ContainsFunc(slices.Collect(maps.Keys(request.Properties)), isField) {
			sentences = append(sentences, fmt.Sprintf("%s of internal/pets/pet.go is not in the document: describe it in NewPet and Pet of openapi.yaml, and run make generate.", field))
		}
	}
	return slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), t.err
}

// tree is the files of the module, and the first error in reading them.
type tree struct {
	root string
	err  error
}

// text returns the files that match a pattern, one behind the other.
func (t *tree) text(pattern string) string {
	names, err := filepath.Glob(filepath.Join(t.root, pattern))
	var all strings.Builder
	for _, name := range names {
		var text []byte
		if text, err = os.ReadFile(name); err != nil {
			break
		}
		all.Write(text)
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: no such file", pattern)
	}
	if t.err == nil {
		t.err = err
	}
	return all.String()
}

// has reports whether a file that matches the pattern matches the expression.
func (t *tree) has(pattern, expression string) bool {
	return regexp.MustCompile(expression).MatchString(t.text(pattern))
}

// fields returns the names of the fields of a struct.
func (t *tree) fields(file, name string) (fields []string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, t.text(file), 0)
	if err != nil {
		if t.err == nil {
			t.err = err
		}
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name {
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				for _, ident := range field.Names {
					fields = append(fields, ident.Name)
				}
			}
		}
		return true
	})
	return fields
}

var parameter = regexp.MustCompile(`\\\{[^}]*\}`)

// operation returns the next step of an operation, or "".
func (t *tree) operation(id, method, path string) string {
	if !t.has("internal/pets/service/*.go", `(?i)func \(\w+ \*Service\) `+id+`\(`) {
		return fmt.Sprintf("%s has no method: add it to internal/pets/service, as the generated StrictServerInterface has it.", id)
	}
	target := parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/?\s']+`)
	if !t.has("cmd/petstore/testdata/*.txtar", `(?m)request `+method+` '?/v1`+target+`(?:[?'\s]|$)`) {
		return fmt.Sprintf("%s has no conversation: send %s /v1%s in one of cmd/petstore/testdata.", id, method, path)
	}
	return ""
}

// stores are the stores with columns, and the folders of their migrations.
var stores = []struct{ columns, migrations string }{
	{"internal/pets/store/postgres/columns.go", "internal/pets/store/postgres/migrations"},
	{"internal/pets/store/sqlite/columns.go", "internal/pets/store/sqlite/dbfile/migrations"},
}

// property returns the next step of a property of NewPet, or "".
func (t *tree) property(name string) string {
	named := `(?i)\b` + name + `\b`
	for _, step := range []struct{ file, sentence string }{
		{"internal/pets/pet.go", "%s has no field: add it to NewPet, Pet, WithID and WithoutID of %s."},
		{"internal/pets/service/convert.go", "%s is not converted: add it to NewPet, AppendPet and sizeOf of %s."},
	} {
		if !t.has(step.file, named) {
			return fmt.Sprintf(step.sentence, name, step.file)
		}
	}
	for _, store := range stores {
		column := regexp.MustCompile(`(?i)"(\w+)".*\.` + name + `\b`).FindStringSubmatch(t.text(store.columns))
		if column == nil {
			return fmt.Sprintf("%s has no column: add it to columns of %s.", name, store.columns)
		}
		if !t.has(store.migrations+"/*.sql", `\b`+column[1]+`\b`) {
			return fmt.Sprintf("%s has a column that no migration adds: add it in a new file of %s.", name, store.migrations)
		}
	}
	const files = "internal/pets/files/columns.go"
	if !t.has(files, `"`+name+`"`) {
		return fmt.Sprintf("%s is not exported: add it to columns of %s.", name, files)
	}
	return ""
}
