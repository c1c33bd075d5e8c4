# Adds the property of the chapter "Add a property", with the page's own code.
. internal/proof/copy/testdata/page.sh

# 1. The document.
cat >tags <<'END'
        tags:
          x-order: 4
          type: array
          maxItems: 20
          items: {type: string, pattern: '^[^\x00]*$', x-pattern-message: must not contain U+0000}
          example: [small]
END
sed -i '/^        status: {$ref/{e cat tags
	}' openapi.yaml
rm tags
make generate
{ go build ./internal/service || true; } 2>&1 | grep 'cannot convert'

# 2. The domain.
sed -i -e "s/^	Status     Status.*/&\n\t$(code 'Tags []string `json:",omitzero"`')/" \
	-e 's/{ return \[\]text{{"name", p.Name}} }/{\n\tall := []text{{"name", p.Name}}\n\tfor _, tag := range p.Tags {\n\t\tall = append(all, text{"tags", tag})\n\t}\n\treturn all\n}/' internal/pets/pets.go

# 3. The operations.
sed -i -e "s/CategoryID: body.CategoryID, /&$(code 'Tags: valueOr(body.Tags, nil)'), /" \
	-e "s/^	return api.Pet(struct {/\tvar tags *[]string\n\t$(code 'if p.Tags != nil { tags = &p.Tags }' | sed 's/&/\\&/')\n&/" \
	-e 's/^		CategoryID int64$/&\n\t\tTags *[]string/' -e 's/{p.ID, p.Name, p.CategoryID, /&tags, /' internal/service/service.go

# 4. SQLite.
sed -i -e 's/"name, category_id, status"/"name, category_id, status, tags"/' -e 's/VALUES (nullif(?, 0), ?/&, ?/' \
	-e "s/&p.Status} }/\&p.Status, $(code 'inJSON{&p.Tags}' | sed 's/&/\\&/')} }/" \
	-e 's/^	"database\/sql"/&\n\t"database\/sql\/driver"\n\t"encoding\/json"/' internal/store/sqlite/pets.go
{ echo; page '// inJSON'; } >>internal/store/sqlite/pets.go
{ echo '-- +goose Up'; code "ALTER TABLE pets ADD COLUMN tags TEXT NOT NULL DEFAULT 'null'"; echo ';'; } >internal/store/sqlite/migrations/00002_tags.sql

# 5. PostgreSQL.
sed -i -e 's/"name, category_id, status"/"name, category_id, status, tags"/' -e 's/(\*string)(&p.Status)/&, \&p.Tags/' \
	-e 's/VALUES (\$1, \$2, \$3)/VALUES ($1, $2, $3, $4)/' -e 's/VALUE VALUES (\$1, \$2, \$3, \$4)/VALUE VALUES ($1, $2, $3, $4, $5)/' \
	-e 's/SELECT pet_id, \$4, \$5, \$6 /SELECT pet_id, $4, $5, $6, $7 /' -e "s/ELSE '' END, category_id, status/&, tags/" internal/store/postgres/pets.go
echo "-- +goose Up
ALTER TABLE petstore.pets $(code 'ADD COLUMN tags jsonb');" >internal/store/postgres/migrations/00002_tags.sql

# 6. Tests and pages.
sed -i 's/^	p.CategoryID = int64(n)/&\n\tp.Tags = []string{p.Name}/' internal/example/example.go
sed -i -e "s/(id, name, category_id, status) OVERRIDING/(id, name, category_id, status, tags) OVERRIDING/" \
	-e "s/%d, %Q);', id, hex(name), category_id, status)/%d, %Q, nullif(%Q, ''null'')::jsonb);', id, hex(name), category_id, status, tags)/" \
	deploy/postgres/from-sqlite.md
cat >cases <<'END'
		{send: "POST /v1/pets", body: example.Body(`"tags":[` + strings.Repeat(`"a",`, 19) + `"a"]`), want: "201"},
		{send: "POST /v1/pets", body: example.Body(`"tags":[` + strings.Repeat(`"a",`, 20) + `"a"]`), want: "400 invalid_body", says: "tags"},
END
sed -i '/^		\/\/ Creates/{e cat cases
	}' internal/proof/contract/cases.go
rm cases
sed -i 's/^func TestAllocations/func testAllocations/' internal/service/allocations_test.go # its numbers depend on the properties
gofmt -w internal
