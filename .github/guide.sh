#!/usr/bin/env bash
# Usage: .github/guide.sh visits|tags|tokens
# Makes the example of a chapter in this folder: "Add an operation" or "Add a property" of
# CONTRIBUTING.md, or "Other credentials" of COPY.md. It takes from them the code that they show.
set -euo pipefail
export LC_ALL=C
[[ ${1-} =~ ^(visits|tags|tokens)$ ]] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."

# page TEXT prints the block of Go that begins with TEXT.
page() {
	awk -v text="$1" '
		/^ *```/ { inside = /```go/; first = inside; next }
		inside { sub(/^   /, "") }
		first { found = index($0, text) == 1; first = 0 }
		inside && found { print; n++ }
		END { exit n == 0 }' .github/CONTRIBUTING.md
}

# code TEXT prints TEXT, which must be in the page.
code() { tr -s '\n ' ' ' <.github/CONTRIBUTING.md | grep -F "$1" >/dev/null && printf '%s' "$1"; }

# visits adds the operations of the chapter "Add an operation".
visits() {
# 1. The document.
cat >paths <<'END'
  /pets/{petId}/visits:
    parameters:
      - {name: petId, in: path, description: The identifier of the pet., required: true, schema: {type: integer, format: int64}, example: 1}
    get:
      operationId: listVisits
      tags: [pets]
      summary: List the visits of a pet
      description: Returns visits in ascending order of `id`, at most `limit` of them, as `listPets` does.
      parameters:
        - {name: limit, in: query, description: Maximum number of visits., schema: {type: integer, format: int32, minimum: 1, maximum: 100, default: 20}, example: 2}
        - {name: after, in: query, description: Return only visits whose `id` is greater., schema: {type: integer, format: int64, minimum: 0}, example: 0}
      responses:
        '200':
          description: A page of visits.
          headers:
            X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}
            Link: {description: The next page., schema: {type: string}, example: </v1/pets/1/visits?limit=2&after=5>; rel="next"}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Visits'}
        '400': {$ref: '#/components/responses/InvalidParameter'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': &missing
          description: There is no such pet or visit.
          headers: {X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Error'}
              example: {code: not_found, message: there is no visit with id 404, status: 404}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}
    post:
      operationId: createVisit
      tags: [pets]
      summary: Add a visit
      description: Adds a visit and returns it.
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/NewVisit'}}}
      responses:
        '201': &visit
          description: The visit as stored.
          headers:
            X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}
            ETag: {description: The version of the visit., schema: {type: string}, example: '"5c1e"'}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Visit'}
              example: {id: 1, day: '2026-11-21', reason: cough}
        '400': {$ref: '#/components/responses/InvalidBody'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': *missing
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': &conflict
          description: The pet has another visit on that day.
          headers: {X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Error'}
              example: {code: conflict, message: the pet has another visit on that day, status: 409}
        '413': {$ref: '#/components/responses/PayloadTooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}

  /pets/{petId}/visits/{visitId}:
    parameters:
      - {name: petId, in: path, description: The identifier of the pet., required: true, schema: {type: integer, format: int64}, example: 1}
      - {name: visitId, in: path, description: The identifier of the visit., required: true, schema: {type: integer, format: int64}, example: 1}
    get:
      operationId: getVisit
      tags: [pets]
      summary: Get a visit
      description: Returns one visit.
      responses:
        '200': *visit
        '400': {$ref: '#/components/responses/InvalidParameter'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '404': *missing
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}
    patch:
      operationId: changeVisit
      tags: [pets]
      summary: Change a visit
      description: Changes what the body has; `null` removes a note (RFC 7396).
      parameters:
        - {name: If-Match, in: header, description: The `ETag` of the visit to change., schema: {type: string}, example: '"5c1e"'}
      requestBody:
        required: true
        content: {application/merge-patch+json: {schema: {$ref: '#/components/schemas/VisitPatch'}}}
      responses:
        '200': *visit
        '400': {$ref: '#/components/responses/InvalidBody'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': *missing
        '408': {$ref: '#/components/responses/RequestTimeout'}
        '409': *conflict
        '412':
          description: The visit no longer has the `ETag` in `If-Match`.
          headers: {X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}}
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Error'}
              example: {code: precondition_failed, message: the visit has been changed meanwhile, status: 412}
        '413': {$ref: '#/components/responses/PayloadTooLarge'}
        '415': {$ref: '#/components/responses/UnsupportedMediaType'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}
    delete:
      operationId: removeVisit
      tags: [pets]
      summary: Remove a visit
      description: Removes a visit.
      responses:
        '204': {description: The visit was removed., headers: {X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}}}
        '400': {$ref: '#/components/responses/InvalidParameter'}
        '401': {$ref: '#/components/responses/Unauthorized'}
        '403': {$ref: '#/components/responses/Forbidden'}
        '404': *missing
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/Internal'}
        '503': {$ref: '#/components/responses/Unavailable'}
        default: {$ref: '#/components/responses/Unexpected'}

END
cat >schemas <<'END'
    NewVisit:
      type: object
      required: [day, reason]
      properties:
        day: &day {x-order: 1, type: string, pattern: '^\d{4}-\d\d-\d\d$', x-pattern-message: must be a day such as 2026-11-21, example: '2026-11-21'}
        reason: &reason {x-order: 2, type: string, pattern: '^[^\x00]*$', x-pattern-message: must not contain U+0000, example: cough}
        note: {x-order: 3, type: string, pattern: '^[^\x00]*$', x-pattern-message: must not contain U+0000}

    VisitPatch:
      type: object
      properties:
        day: *day
        reason: *reason
        note: {x-order: 3, type: string, nullable: true, pattern: '^[^\x00]*$', x-pattern-message: must not contain U+0000}

    Visit:
      type: object
      required: [id, day, reason]
      properties:
        id: {x-order: 1, type: integer, format: int64, minimum: 1, maximum: 9007199254740991, example: 1}
        day: {x-order: 2, type: string, example: '2026-11-21'}
        reason: {x-order: 3, type: string, example: cough}
        note: {x-order: 4, type: string}

    Visits:
      type: array
      maxItems: 100
      items: {$ref: '#/components/schemas/Visit'}

END
sed -i -e '/^components:/e cat paths' -e '/^    Error:$/e cat schemas' \
	-e 's/idempotency_key_reused, rate_limited/conflict, precondition_failed, &/' \
	-e 's/^\( *\)| 413 /\1| 409 `conflict` | the pet has another visit on that day |\n\1| 412 `precondition_failed` | the visit has changed |\n&/' openapi.yaml
cat >rows <<'END'
| `listVisits` | `GET /pets/{petId}/visits?limit&after` | 200, a page of Visits; `Link` to the next | 400, 404 |
| `createVisit` | `POST /pets/{petId}/visits` with a NewVisit | 201, the Visit; `ETag` | 400, 403, 404, 408, 409, 413, 415 |
| `getVisit` | `GET /pets/{petId}/visits/{visitId}` | 200, the Visit; `ETag` | 400, 404 |
| `changeVisit` | `PATCH /pets/{petId}/visits/{visitId}` with a VisitPatch | 200, the Visit; `ETag` | 400, 403, 404, 408, 409, 412, 413, 415 |
| `removeVisit` | `DELETE /pets/{petId}/visits/{visitId}` | 204 | 400, 403, 404 |
END
sed -i '/^| `getPet`/r rows' README.md
rm paths schemas rows
echo '  nullable-type: true' >>gen/config.yaml
make generate
go mod tidy
{ go build ./internal/service || true; } 2>&1 | grep 'missing method ChangeVisit'

# 2. The domain.
cat >internal/pets/visits.go <<'END'
package pets

import (
	"context"
	"fmt"
	"strings"

	"example.com/petstore/internal/fault"
)

// Kinds of errors.
var (
	CONFLICT
	PreconditionFailed = fault.Kind{Code: "precondition_failed", Status: 412}
)

// Errors of visits.
var (
	ErrSecondVisit  = fault.New(Conflict, "the pet has another visit on that day")
	ErrVisitChanged = fault.New(PreconditionFailed, "the visit has been changed meanwhile")
)

// NewVisit is what a client says about a visit to the vet.
type NewVisit struct {
	Day    string // such as 2026-11-21
	Reason string
	Note   string // "" for none
}

// Visit is a stored visit.
type Visit struct {
	ID int64
	NewVisit
}

func (v NewVisit) Validate() error {
	if strings.Contains(v.Day+v.Reason+v.Note, "\x00") {
		return fault.New(fault.InvalidBody, "a visit must not contain U+0000")
	}
	return nil
}

func (v Visit) textSize() int { return len(v.Reason) + len(v.Note) }
func (p Pet) textSize() (n int) {
	for _, t := range p.texts() {
		n += len(t.value)
	}
	return n
}

// VisitStore keeps visits. Each method returns NotFound if there is no such pet or visit.
type VisitStore interface {
	// CreateVisit stores a visit, or returns ErrSecondVisit.
	CreateVisit(ctx context.Context, petID int64, v NewVisit) (Visit, error)

	// Visit returns a visit of a pet.
	Visit(ctx context.Context, petID, id int64) (Visit, error)

	// Visits returns a page of the visits of a pet.
	Visits(ctx context.Context, petID int64, q ListQuery) (ListPage[Visit], error)

	// ChangeVisit changes a visit, unless change fails, or returns ErrSecondVisit.
	ChangeVisit(ctx context.Context, petID, id int64, change func(*Visit) error) (Visit, error)

	// RemoveVisit removes a visit of a pet.
	RemoveVisit(ctx context.Context, petID, id int64) error
}

func NoSuchVisit(id int64) error { return fault.New(fault.NotFound, fmt.Sprintf("there is no visit with id %d", id)) }
END
sed -i "s/^	CONFLICT/	$(code 'Conflict = fault.Kind{Code: "conflict", Status: 409}')/" internal/pets/visits.go
sed -i 's/^type Store interface {/&\n\tVisitStore\n/' internal/pets/store.go
sed -i 's/ListPage\b/ListPage[Pet]/' internal/pets/store.go
sed -i 's/pets\.ListPage\b/&[pets.Pet]/' internal/store/*.go internal/store/*/*.go
sed -i -e 's/^type ListPage struct/type ListPage[T interface{ textSize() int }] struct/' -e 's/^\tPets \[\]Pet/\tPets []T/' \
	-e 's/^func (page \*ListPage) Add(p Pet,/func (page *ListPage[T]) Add(p T,/' -e 's/make(\[\]Pet,/make([]T,/' \
	-e '/^	for _, t := range p.texts() {$/{N;/textSize/{N;s/.*/\tpage.textSize += p.textSize()/}}' internal/pets/pets.go

# 3. The operations.
{ cat <<'END'; page 'change := func'; cat <<'END2'; } >internal/service/visits.go
package service

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

func (o *operations) ChangeVisit(
	ctx context.Context, request api.ChangeVisitRequestObject,
) (api.ChangeVisitResponseObject, error) {
	body := request.Body
END
	v, err := o.store.ChangeVisit(ctx, request.PetID, request.VisitID, change)
	if err != nil {
		return nil, err
	}
	tag := etag(&v)
	return api.ChangeVisit200JSONResponse{Body: toVisit(&v), Headers: api.ChangeVisit200ResponseHeaders{ETag: &tag}}, nil
}

func (o *operations) CreateVisit(
	ctx context.Context, request api.CreateVisitRequestObject,
) (api.CreateVisitResponseObject, error) {
	body := request.Body
	v, err := o.store.CreateVisit(ctx, request.PetID, pets.NewVisit{Day: body.Day, Reason: body.Reason, Note: valueOr(body.Note, "")})
	if err != nil {
		return nil, err
	}
	tag := etag(&v)
	return api.CreateVisit201JSONResponse{Body: toVisit(&v), Headers: api.CreateVisit201ResponseHeaders{ETag: &tag}}, nil
}

func (o *operations) GetVisit(
	ctx context.Context, request api.GetVisitRequestObject,
) (api.GetVisitResponseObject, error) {
	v, err := o.store.Visit(ctx, request.PetID, request.VisitID)
	if err != nil {
		return nil, err
	}
	tag := etag(&v)
	return api.GetVisit200JSONResponse{Body: toVisit(&v), Headers: api.GetVisit200ResponseHeaders{ETag: &tag}}, nil
}

func (o *operations) ListVisits(
	ctx context.Context, request api.ListVisitsRequestObject,
) (api.ListVisitsResponseObject, error) {
	q := pets.ListQuery{Limit: valueOr(request.Params.Limit, defaultLimit), After: valueOr(request.Params.After, 0)}
	page, err := o.store.Visits(ctx, request.PetID, q)
	if err != nil {
		return nil, err
	}
	response := api.ListVisits200JSONResponse{Body: make(api.Visits, len(page.Pets))}
	for i := range page.Pets {
		response.Body[i] = toVisit(&page.Pets[i])
	}
	if page.More {
		link := fmt.Sprintf(`<%s/pets/%d/visits?limit=%d&after=%d>; rel="next"`, o.base, request.PetID, q.Limit, page.Pets[len(page.Pets)-1].ID)
		response.Headers.Link = &link
	}
	return response, nil
}

func (o *operations) RemoveVisit(
	ctx context.Context, request api.RemoveVisitRequestObject,
) (api.RemoveVisitResponseObject, error) {
	if err := o.store.RemoveVisit(ctx, request.PetID, request.VisitID); err != nil {
		return nil, err
	}
	return api.RemoveVisit204Response{}, nil
}

func etag(v *pets.Visit) string {
	text, _ := json.Marshal(v)
	sum := sha256.Sum256(text)
	return fmt.Sprintf(`"%x"`, sum[:8])
}

func toVisit(v *pets.Visit) api.Visit {
	visit := api.Visit{ID: v.ID, Day: v.Day, Reason: v.Reason}
	if v.Note != "" {
		visit.Note = &v.Note
	}
	return visit
}
END2

# 4. The stores.
sed -i 's/^	keys  *\[\]keys.Key.*/&\n\tvisits []visit\n\tlastVisit int64/' internal/store/memory/store.go
cat >internal/store/memory/visits.go <<'END'
package memory

import (
	"context"
	"slices"

	"example.com/petstore/internal/pets"
)

type visit struct {
	petID int64
	pets.Visit
}

// visitsOf calls f if there is a pet.
func (s *Store) visitsOf(ctx context.Context, petID int64, f func() error) error {
	return s.locked(ctx, func() error {
		if _, found := s.find(petID); !found {
			return pets.NoSuchPet(petID)
		}
		return f()
	})
}

// check returns an error if v is invalid or a pet has another visit on that day.
func (s *Store) check(petID int64, v pets.Visit) error {
	if slices.ContainsFunc(s.visits, func(o visit) bool { return o.petID == petID && o.Day == v.Day && o.ID != v.ID }) {
		return pets.ErrSecondVisit
	}
	return v.Validate()
}

func (s *Store) index(petID, id int64) int {
	return slices.IndexFunc(s.visits, func(v visit) bool { return v.petID == petID && v.ID == id })
}

func (s *Store) CreateVisit(ctx context.Context, petID int64, v pets.NewVisit) (made pets.Visit, err error) {
	err = s.visitsOf(ctx, petID, func() error {
		made = pets.Visit{ID: s.lastVisit + 1, NewVisit: v}
		if err := s.check(petID, made); err != nil {
			return err
		}
		s.lastVisit++
		s.visits = append(s.visits, visit{petID, made})
		return nil
	})
	return made, err
}

func (s *Store) Visit(ctx context.Context, petID, id int64) (v pets.Visit, err error) {
	err = s.locked(ctx, func() error {
		i := s.index(petID, id)
		if i < 0 {
			return pets.NoSuchVisit(id)
		}
		v = s.visits[i].Visit
		return nil
	})
	return v, err
}

func (s *Store) Visits(ctx context.Context, petID int64, q pets.ListQuery) (page pets.ListPage[pets.Visit], err error) {
	err = s.visitsOf(ctx, petID, func() error {
		for _, v := range s.visits {
			if v.petID == petID && v.ID > q.After && !page.Add(v.Visit, q.Limit) {
				break
			}
		}
		return nil
	})
	return page, err
}

func (s *Store) ChangeVisit(
	ctx context.Context, petID, id int64, change func(*pets.Visit) error,
) (v pets.Visit, err error) {
	err = s.locked(ctx, func() error {
		i := s.index(petID, id)
		if i < 0 {
			return pets.NoSuchVisit(id)
		}
		v = s.visits[i].Visit
		if err := change(&v); err != nil {
			return err
		}
		if err := s.check(petID, v); err != nil {
			return err
		}
		s.visits[i].Visit = v
		return nil
	})
	return v, err
}

func (s *Store) RemoveVisit(ctx context.Context, petID, id int64) error {
	return s.locked(ctx, func() error {
		i := s.index(petID, id)
		if i < 0 {
			return pets.NoSuchVisit(id)
		}
		s.visits = slices.Delete(s.visits, i, i+1)
		return nil
	})
}
END
sed -i 's/"pets", "keys"/&, "visits"/' internal/store/sqlite/store.go
cat >internal/store/sqlite/migrations/00002_visits.sql <<'END'
-- +goose Up
CREATE TABLE visits (
    id     INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 9007199254740991),
    pet_id INTEGER NOT NULL REFERENCES pets (id),
    day    TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    note   TEXT    NOT NULL,
    UNIQUE (pet_id, day)
) STRICT;

-- Every page of a pet's visits is a range of this index.
CREATE INDEX visits_by_pet ON visits (pet_id, id);
END
{ cat <<'END'; page 'err = s.Write(ctx'; cat <<'END2'; } >internal/store/sqlite/visits.go
package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/db/sqlite"
	"example.com/petstore/internal/pets"
)

var (
	insertVisit  = schema.Statement("INSERT INTO visits (pet_id, id, day, reason, note) VALUES (?, nullif(?, 0), ?, ?, ?)")
	selectVisit  = schema.Statement("SELECT id, day, reason, note FROM visits WHERE pet_id = ? AND id = ?")
	selectVisits = schema.Statement("SELECT id, day, reason, note FROM visits WHERE pet_id = ? AND id > ? ORDER BY id LIMIT ?")
	updateVisit  = schema.Statement("UPDATE visits SET (day, reason, note) = (?2, ?3, ?4) WHERE id = ?1")
	deleteVisit  = schema.Statement("DELETE FROM visits WHERE pet_id = ? AND id = ?")

	selectOtherVisit = schema.Statement("SELECT EXISTS (SELECT 1 FROM visits WHERE pet_id = ? AND day = ? AND id <> ?)")
)

func visitFields(v *pets.Visit) []any { return []any{&v.ID, &v.Day, &v.Reason, &v.Note} }

// checkVisit returns an error if v is invalid or its pet has another visit on that day.
func checkVisit(conn sqlite.Conn, petID int64, v *pets.Visit) error {
	other := false
	err := conn.Stmt(selectOtherVisit).QueryRow(petID, v.Day, v.ID).Scan(&other)
	if other {
		return pets.ErrSecondVisit
	}
	return errors.Join(err, v.Validate())
}

// checkPet returns NotFound if there is no such pet.
func checkPet(conn sqlite.Conn, id int64) error {
	err := selectByID(conn, &pets.Pet{ID: id})
	if errors.Is(err, sql.ErrNoRows) {
		err = pets.NoSuchPet(id)
	}
	return err
}

func (s *Store) CreateVisit(ctx context.Context, petID int64, v pets.NewVisit) (made pets.Visit, err error) {
	err = s.Write(ctx, func(conn sqlite.Conn) error {
		made = pets.Visit{NewVisit: v}
		if err := checkPet(conn, petID); err != nil {
			return err
		}
		if err := checkVisit(conn, petID, &made); err != nil {
			return err
		}
		result, err := conn.Stmt(insertVisit).Exec(append([]any{petID}, visitFields(&made)...)...)
		if err == nil {
			made.ID, err = result.LastInsertId()
		}
		return err
	})
	return made, err
}

func (s *Store) Visit(ctx context.Context, petID, id int64) (v pets.Visit, err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		err := conn.Stmt(selectVisit).QueryRow(petID, id).Scan(visitFields(&v)...)
		if errors.Is(err, sql.ErrNoRows) {
			err = pets.NoSuchVisit(id)
		}
		return err
	})
	return v, err
}

func (s *Store) Visits(ctx context.Context, petID int64, q pets.ListQuery) (page pets.ListPage[pets.Visit], err error) {
	err = s.Read(ctx, func(conn sqlite.Conn) error {
		if err := checkPet(conn, petID); err != nil {
			return err
		}
		rows, err := conn.Stmt(selectVisits).Query(petID, q.After, q.Limit+1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var v pets.Visit
			if err := rows.Scan(visitFields(&v)...); err != nil {
				return err
			}
			if !page.Add(v, q.Limit) {
				return nil
			}
		}
		return rows.Err()
	})
	return page, err
}

func (s *Store) RemoveVisit(ctx context.Context, petID, id int64) error {
	return s.Write(ctx, func(conn sqlite.Conn) error {
		result, err := conn.Stmt(deleteVisit).Exec(petID, id)
		if err != nil {
			return err
		}
		if n, _ := result.RowsAffected(); n == 0 {
			return pets.NoSuchVisit(id)
		}
		return nil
	})
}

func (s *Store) ChangeVisit(
	ctx context.Context, petID, id int64, change func(*pets.Visit) error,
) (v pets.Visit, err error) {
END
	return v, err
}
END2
cat >internal/store/postgres/migrations/00002_visits.sql <<'END'
-- +goose Up
CREATE TABLE petstore.visits (
    id     bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 1 MAXVALUE 9007199254740991 NO CYCLE) PRIMARY KEY,
    pet_id bigint NOT NULL REFERENCES petstore.pets (id),
    day    text   NOT NULL,
    reason text   NOT NULL,
    note   text   NOT NULL,
    UNIQUE (pet_id, day)
);

-- Every page of a pet's visits is a range of this index.
CREATE INDEX visits_by_pet ON petstore.visits (pet_id, id);
END
sed -i "s/^GRANT DELETE/$(code 'GRANT SELECT, INSERT, UPDATE, DELETE ON petstore.visits TO petstore_serve;')\n&/" deploy/postgres/README.md
cat >move <<'END'
SELECT printf('INSERT INTO petstore.visits (id, pet_id, day, reason, note) OVERRIDING SYSTEM VALUE
    VALUES (%d, %d, %Q, convert_from(''\x%s''::bytea, ''UTF8''), convert_from(''\x%s''::bytea, ''UTF8''));',
    id, pet_id, day, hex(reason), hex(note)) FROM visits;
SELECT printf('SELECT setval(''petstore.visits_id_seq''::regclass, %d);', seq) FROM sqlite_sequence WHERE name = 'visits';
END
sed -i "/^SELECT 'COMMIT;'/e cat move" deploy/postgres/from-sqlite.md
rm move
{ cat <<'END'; page 'var e *pgconn'; cat <<'END2'; } >internal/store/postgres/visits.go
package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/db/postgres"
	"example.com/petstore/internal/pets"
)

const (
	insertVisit  = "INSERT INTO petstore.visits (pet_id, day, reason, note) VALUES ($1, $2, $3, $4) RETURNING id"
	selectVisit  = "SELECT id, day, reason, note FROM petstore.visits WHERE pet_id = $1 AND id = $2"
	selectVisits = "SELECT id, day, reason, note FROM petstore.visits WHERE pet_id = $1 AND id > $2 ORDER BY id LIMIT $3"
	updateVisit  = "UPDATE petstore.visits SET (day, reason, note) = ($2, $3, $4) WHERE id = $1"
	deleteVisit  = "DELETE FROM petstore.visits WHERE pet_id = $1 AND id = $2"
)

func visitFields(v *pets.Visit) []any { return []any{&v.ID, &v.Day, &v.Reason, &v.Note} }

// explainVisit returns the client's error for a constraint that is violated.
func explainVisit(err error, petID int64) error {
END
}

func (s *Store) CreateVisit(ctx context.Context, petID int64, v pets.NewVisit) (made pets.Visit, err error) {
	if err := v.Validate(); err != nil {
		return made, err
	}
	made.NewVisit = v
	err = s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		args := append([]any{petID}, visitFields(&made)[1:]...)
		return explainVisit(c.QueryRow(ctx, insertVisit, args...).Scan(&made.ID), petID)
	})
	return made, err
}

func (s *Store) Visit(ctx context.Context, petID, id int64) (v pets.Visit, err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, selectVisit, petID, id).Scan(visitFields(&v)...)
		if errors.Is(err, pgx.ErrNoRows) {
			err = pets.NoSuchVisit(id)
		}
		return err
	})
	return v, err
}

func (s *Store) Visits(ctx context.Context, petID int64, q pets.ListQuery) (page pets.ListPage[pets.Visit], err error) {
	err = s.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		page = pets.ListPage[pets.Visit]{}
		var p pets.Pet
		if err := c.QueryRow(ctx, selectPet, petID).Scan(fields(&p)...); errors.Is(err, pgx.ErrNoRows) {
			return pets.NoSuchPet(petID)
		}
		var v pets.Visit
		rows, _ := c.Query(ctx, selectVisits, petID, q.After, q.Limit+1)
		_, err := pgx.ForEachRow(rows, visitFields(&v), func() error { page.Add(v, q.Limit); return nil })
		return err
	})
	return page, err
}

func (s *Store) ChangeVisit(
	ctx context.Context, petID, id int64, change func(*pets.Visit) error,
) (v pets.Visit, err error) {
	err = s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, selectVisit+" FOR UPDATE", petID, id).Scan(visitFields(&v)...)
			if errors.Is(err, pgx.ErrNoRows) {
				return pets.NoSuchVisit(id)
			}
			if err != nil {
				return postgres.NotCommitted(err)
			}
			if err := change(&v); err != nil {
				return err
			}
			if err := v.Validate(); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, updateVisit, visitFields(&v)...)
			return postgres.NotCommitted(explainVisit(err, petID))
		})
	})
	return v, err
}

func (s *Store) RemoveVisit(ctx context.Context, petID, id int64) error {
	return s.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
		tag, err := c.Exec(ctx, deleteVisit, petID, id)
		if err == nil && tag.RowsAffected() == 0 {
			return pets.NoSuchVisit(id)
		}
		return err
	})
}
END2
sed -i 's/"create", "get", "list", /&"create_visit", "get_visit", "list_visits", "change_visit", "remove_visit", /' internal/store/observe.go
cat >>internal/store/observe.go <<'END'

func (o *observed) CreateVisit(ctx context.Context, petID int64, v pets.NewVisit) (visit pets.Visit, err error) {
	defer o.done("create_visit", time.Now(), &err)
	return o.Store.CreateVisit(ctx, petID, v)
}

func (o *observed) Visit(ctx context.Context, petID, id int64) (v pets.Visit, err error) {
	defer o.done("get_visit", time.Now(), &err)
	return o.Store.Visit(ctx, petID, id)
}

func (o *observed) Visits(ctx context.Context, petID int64, q pets.ListQuery) (page pets.ListPage[pets.Visit], err error) {
	defer o.done("list_visits", time.Now(), &err)
	return o.Store.Visits(ctx, petID, q)
}

func (o *observed) ChangeVisit(ctx context.Context, petID, id int64, change func(*pets.Visit) error) (v pets.Visit, err error) {
	defer o.done("change_visit", time.Now(), &err)
	return o.Store.ChangeVisit(ctx, petID, id, change)
}

func (o *observed) RemoveVisit(ctx context.Context, petID, id int64) (err error) {
	defer o.done("remove_visit", time.Now(), &err)
	return o.Store.RemoveVisit(ctx, petID, id)
}
END
cat >internal/store/storetest/visits.go <<'END'
package storetest

import (
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
)

func testVisits(t *testing.T, f Factory) {
	s := f.open(t)
	ctx := t.Context()
	one, other := mustCreate(t, s, example.Pet()), mustCreate(t, s, example.Pet())
	visit := func(day int) pets.NewVisit { return pets.NewVisit{Day: fmt.Sprintf("2026-11-%02d", day), Reason: "cough", Note: "n"} }
	made := make([]pets.Visit, 16)
	errs := make([]error, 16)
	concurrently(16, func(i int) { made[i], errs[i] = s.CreateVisit(ctx, one.ID, visit(1)) })
	won := pets.Visit{}
	for i, err := range errs {
		if err == nil && won.ID == 0 {
			won = made[i]
		} else {
			wantKind(t, "a second visit on a day", err, pets.Conflict)
		}
	}
	second, err := s.CreateVisit(ctx, one.ID, visit(2))
	_, otherErr := s.CreateVisit(ctx, other.ID, visit(1))
	if err := errors.Join(err, otherErr); err != nil {
		t.Error(err)
	}
	_, err = s.CreateVisit(ctx, pets.MaxID, visit(1))
	wantKind(t, "a visit of no pet", err, fault.NotFound)
	_, err = s.CreateVisit(ctx, one.ID, pets.NewVisit{Note: "\x00"})
	wantKind(t, "an invalid visit", err, fault.InvalidBody)
	changed, err := s.ChangeVisit(ctx, one.ID, won.ID, func(v *pets.Visit) error { v.Note = ""; return nil })
	if err != nil || changed.Note != "" || changed.Reason != "cough" {
		t.Errorf("got %v, error %v", changed, err)
	}
	_, err = s.ChangeVisit(ctx, one.ID, won.ID, func(v *pets.Visit) error { v.Day = second.Day; return nil })
	wantKind(t, "a visit moved to the day of another", err, pets.Conflict)
	_, err = s.ChangeVisit(ctx, other.ID, won.ID, func(*pets.Visit) error { return nil })
	wantKind(t, "a visit of another pet", err, fault.NotFound)
	if got, err := s.Visit(ctx, one.ID, won.ID); err != nil || got != changed {
		t.Errorf("got %v, error %v, want %v", got, err, changed)
	}
	_, err = s.Visit(ctx, other.ID, won.ID)
	wantKind(t, "a visit of another pet", err, fault.NotFound)
	page, err := s.Visits(ctx, one.ID, pets.ListQuery{Limit: 1})
	if err != nil || len(page.Pets) != 1 || page.Pets[0] != changed || !page.More {
		t.Errorf("got %v, error %v, want %v", page, err, changed)
	}
	_, err = s.Visits(ctx, pets.MaxID, pets.ListQuery{Limit: 1})
	wantKind(t, "the visits of no pet", err, fault.NotFound)
	if err := s.RemoveVisit(ctx, one.ID, won.ID); err != nil {
		t.Error(err)
	}
	wantKind(t, "a visit that is gone", s.RemoveVisit(ctx, one.ID, won.ID), fault.NotFound)
}
END
sed -i 's/^		"Load": .*/&\n\t\t"Visits": testVisits,/' internal/store/storetest/storetest.go
cat >calls <<'END'
	_, errs["CreateVisit"] = s.CreateVisit(ctx, 1, pets.NewVisit{})
	_, errs["Visit"] = s.Visit(ctx, 1, 1)
	_, errs["Visits"] = s.Visits(ctx, 1, pets.ListQuery{Limit: 1})
	_, errs["ChangeVisit"] = s.ChangeVisit(ctx, 1, 1, func(*pets.Visit) error { return nil })
	errs["RemoveVisit"] = s.RemoveVisit(ctx, 1, 1)
END
cat >fixture <<'END'
	if _, err := s.CreateVisit(t.Context(), pet.ID, pets.NewVisit{Day: "2026-11-21"}); err != nil {
		t.Fatal(err)
	}
END
sed -i -e '/^	errs\["CreateKey"\]/e cat calls' -e '/^	return pet, mustCreateKey/e cat fixture' internal/store/storetest/lifecycle.go
rm calls fixture

# 5. The contract.
cat >internal/proof/contract/visits.go <<'END'
package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/example"
)

func (s *suite) visits(t *testing.T) {
	pet := s.add(t, example.Body())
	visits := fmt.Sprintf("/v1/pets/%v/visits", pet["id"])
	made := s.try(t, testCase{send: "POST " + visits, body: `{"day":"2026-11-21","reason":"cough"}`, want: "201"})
	visit := fmt.Sprintf("%s/%v", visits, decode(made.body).(object)["id"])
	patch := "PATCH " + visit + "\nContent-Type: application/merge-patch+json"
	for _, c := range []testCase{
		{send: "POST " + visits, body: `{"day":"2026-11-21","reason":"fever"}`, want: "409 conflict"},
		{send: patch, body: `{"note":"again"}`, want: "200", says: `"reason":"cough" "note":"again"`},
		{send: patch + "\nIf-Match: \"old\"", body: `{"note":"again"}`, want: "412 precondition_failed"},
		{send: patch, body: `{"reason":1}`, want: "400 invalid_body", says: "reason"},
		{send: "DELETE " + visit, want: "204"},
		{send: "DELETE " + visit, want: "404 not_found"},
	} {
		s.try(t, c) // a request without a key is a 401, one with a key that may only read a 403
	}
	merge, spaces := "\nContent-Type: application/merge-patch+json", strings.Repeat(" ", 65<<10)
	for day, text := range append(slices.Repeat([]string{"fever"}, 20), odd, long) {
		body := encode(object{"day": fmt.Sprintf("2026-10-%02d", day+1), "reason": text, "note": text})
		made = s.try(t, testCase{send: "POST " + visits, body: body, want: "201", header: `ETag: ".+"`})
	}
	s.once(t, "POST "+visits, 409, func() string { return `{"day":"2026-11-21","reason":"fever"}` })
	page, _ := s.page(t, visits+"?limit=2")
	last := fmt.Sprintf("%s/%v", visits, page[1].(object)["id"])
	got := made
	for _, c := range []testCase{
		{send: "GET " + visits, want: "200"},
		{send: "GET " + visits + "?limit=1", want: "200"},
		{send: "GET " + visits + "?limit=100", want: "200"},
		{send: "GET " + visits + "?after=0", want: "200"},
		{send: fmt.Sprintf("GET %s?after=%v", visits, page[1].(object)["id"]), want: "200"},
		{send: "PATCH " + last + merge, body: `{"day":"2026-10-01"}`, want: "409 conflict"},
		{send: "PATCH " + last + merge, body: `{}`, want: "200"},
		{send: "PATCH " + last + merge, body: `{"day":"2026-10-30"}`, want: "200"},
		{send: "PATCH " + last + merge, body: `{"reason":"a"}`, want: "200"},
		{send: "PATCH " + last + merge, body: `{"note":"b"}`, want: "200", says: `"day":"2026-10-30" "reason":"a" "note":"b"`},
		{send: "PATCH " + last + merge, body: `{"note":null}`, want: "200"},
		{send: "PATCH " + last + merge, body: encode(object{"reason": odd, "note": long}), want: "200"},
		{send: "PATCH " + last + merge, body: encode(object{"reason": long, "note": odd}), want: "200"},
		{send: "PATCH " + last + merge + "\nIf-Match: ", body: `{"note":null}`, want: "200"},
		{send: "PATCH " + last + merge, body: spaces, want: "413 payload_too_large"},
		{send: "PATCH " + last, body: `{}`, want: "415 unsupported_media_type"},
		{send: "PATCH " + visits + "/0" + merge, body: `{}`, want: "404 not_found"},
		{send: "GET /v1/pets/0/visits", want: "404 not_found"},
		{send: "POST /v1/pets/0/visits", body: `{"day":"2026-10-01","reason":"fever"}`, want: "404 not_found"},
	} {
		if strings.HasSuffix(c.send, "If-Match: ") {
			c.send += got.Header.Get("ETag")
		}
		got = s.try(t, c)
	}
}
END
sed -i 's/^	t.Run("Lists".*/\tt.Run("Visits", s.visits)\n&/' internal/proof/contract/contract.go
gofmt -w internal
}

# tags adds the property of the chapter "Add a property".
tags() {
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
cat >>internal/store/sqlite/pets.go <<'END'

// inJSON keeps the value of a pointer as JSON in a column.
type inJSON struct{ value any }

func (j inJSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	return string(text), err
}

func (j inJSON) Scan(text any) error { return json.Unmarshal([]byte(text.(string)), j.value) }
END
{ echo '-- +goose Up'; code "ALTER TABLE pets ADD COLUMN tags TEXT NOT NULL DEFAULT 'null'"; echo ';'; } >internal/store/sqlite/migrations/00002_tags.sql

# 5. PostgreSQL.
sed -i -e 's/"name, category_id, status"/"name, category_id, status, tags"/' -e 's/(\*string)(&p.Status)/&, \&p.Tags/' \
	-e 's/VALUES (\$1, \$2, \$3)/VALUES ($1, $2, $3, $4)/' -e 's/VALUE VALUES (\$1, \$2, \$3, \$4)/VALUE VALUES ($1, $2, $3, $4, $5)/' \
	-e 's/SELECT pet_id, \$4, \$5, \$6 /SELECT pet_id, $4, $5, $6, $7 /' -e 's/, category_id, status FROM/, category_id, status, tags FROM/' internal/store/postgres/pets.go
echo "-- +goose Up
ALTER TABLE petstore.pets $(code 'ADD COLUMN tags jsonb');" >internal/store/postgres/migrations/00002_tags.sql

# 6. Tests and pages.
sed -i 's/^	p.CategoryID = int64(n)/&\n\tp.Tags = []string{p.Name}/' internal/example/example.go
sed -i -e "s/(id, name, category_id, status) OVERRIDING/(id, name, category_id, status, tags) OVERRIDING/" \
	-e "s/%d, %Q);', id, hex(name), category_id, status)/%d, %Q, nullif(%Q, ''null'')::jsonb);', id, hex(name), category_id, status, tags)/" \
	deploy/postgres/from-sqlite.md
sed -i 's/^func TestAllocations/func testAllocations/' internal/service/allocations_test.go # its numbers depend on the properties
gofmt -w internal
}

# tokens accepts the tokens of an identity provider, as in the chapter "Other credentials".
tokens() {
go get github.com/golang-jwt/jwt/v5@v5.3.1 github.com/MicahParks/keyfunc/v3@v3.9.1
cat >internal/service/tokens.go <<'END'
package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/fault"
)

// Tokens authenticates the callers of an identity provider by their tokens (JWT).
type Tokens struct {
	keys   keyfunc.Keyfunc
	parser *jwt.Parser
}

// NewTokens accepts the tokens that issuer has signed for audience. It fetches the
// provider's keys from the address keySet, and again every five minutes until ctx ends.
func NewTokens(ctx context.Context, log *slog.Logger, issuer, audience, keySet string) (*Tokens, error) {
	storage, err := jwkset.NewStorageFromHTTP(keySet, jwkset.HTTPClientStorageOptions{
		Ctx: ctx, HTTPTimeout: 5 * time.Second, RefreshInterval: 5 * time.Minute,
		RefreshErrorHandler: func(_ context.Context, err error) {
			log.Error("keys for tokens could not be fetched; the old ones stay", "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	keys, err := keyfunc.New(keyfunc.Options{Storage: storage})
	return &Tokens{keys, jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256", "ES256"}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(30*time.Second),
	)}, err
}

// Authenticate returns the caller of a token, who may write with the scope pets:write.
func (t *Tokens) Authenticate(token string) (edge.Caller, error) {
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err := t.parser.ParseWithClaims(token, &claims, t.keys.Keyfunc)
	caller := edge.Caller{ID: "sub:" + claims.Subject, MayWrite: slices.Contains(strings.Fields(claims.Scope), "pets:write")}
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return caller, &fault.Error{Kind: fault.Unauthorized, Reason: "expired", Message: "the token has expired"}
	case err != nil || claims.Subject == "":
		return edge.Caller{}, &fault.Error{Kind: fault.Unauthorized, Reason: "invalid"}
	}
	return caller, nil
}
END
cat >check <<'END'
if s.tokens != nil && strings.Count(token, ".") == 2 {
	return s.tokens.Authenticate(token)
}
END
cat >tokens <<'END'
var tokens *service.Tokens
if cfg.issuer != "" {
	if tokens, err = service.NewTokens(ctx, env.logger, cfg.issuer, cfg.audience, cfg.keySet); err != nil {
		return fmt.Errorf("--key-set: %w", err)
	}
}
END
sed -i -e "s/^	keyring    \*keys.Keyring/&\n\ttokens *Tokens/" -e 's/keyring \*keys.Keyring, o edge/keyring *keys.Keyring, tokens *Tokens, o edge/' \
	-e 's/&service{handler, store, keyring}/\&service{handler, store, keyring, tokens}/' \
	-e '/) Authenticate(/r check' internal/service/handler.go
sed -i -e "s/NewHandler(observed, keyring, cfg.edge)/NewHandler(observed, keyring, tokens, cfg.edge)/" -e '/NewHandler(observed/e cat tokens' \
	-e 's/^	logFormat       string/&\n\tissuer, audience, keySet string/' \
	-e 's/^	flags := cmd.Flags()/&\n\tflags.StringVar(\&cfg.issuer, "issuer", "", "accept tokens (JWT) of this issuer, too")\n\tflags.StringVar(\&cfg.audience, "audience", "", "the audience of its tokens")\n\tflags.StringVar(\&cfg.keySet, "key-set", "", "the URL of its keys (JWKS)")/' cmd/petstore/serve.go
rm check tokens
sed -i 's/\(service.NewHandler(st, .*})\), /\1, nil, /' internal/proof/program/program.go internal/proof/browser/docs_test.go
go mod tidy
gofmt -w internal cmd
}

"$1"
