package edge

import (
	"strings"
	"testing"
)

// documentOf returns a document with one operation at one path, which has a
// parameter p there, and components.
func documentOf(method, path, operation, components string) []byte {
	return []byte(`openapi: 3.0.3
info: {title: Refused, version: 1.0.0}
security: [{bearerAuth: []}]
paths:
  ` + path + `:
    ` + method + `: {operationId: refused, responses: {'204': {description: done}}` + operation + `}
components:
  securitySchemes: {bearerAuth: {type: http, scheme: bearer}}
  schemas:
    Cat: {type: object, properties: {a: {type: integer}}}
    Dog: {type: object, properties: {b: {type: integer}}}
    MaybeNull: {type: object, nullable: true}
    Either: {oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}
    ` + components + "\n")
}

func wantRefused(t *testing.T, document []byte, want string) {
	t.Helper()
	_, err := newEdge(config(document))
	switch {
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("New: got %v, want an error with %q", err, want)
	case strings.Contains(err.Error(), "\n"):
		t.Errorf("New: got %q, want one line", err)
	}
}

func TestAParameterThatCannotBeBoundIsRefusedAtTheStart(t *testing.T) {
	for parameter, want := range map[string]string{
		"in: cookie, schema: {type: string}":                            "the service reads no cookies",
		"in: query, schema: {$ref: '#/components/schemas/Either'}":      "its schema needs one type",
		"in: query, schema: {oneOf: [{type: string}, {type: integer}]}": "oneOf or anyOf needs a name",
		"in: query, schema: {anyOf: [{type: string}, {type: integer}]}": "oneOf or anyOf needs a name",
		"in: query, schema: {}":                                         "its schema needs one type",
		"in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: array, items: {type: string}}}}": "the properties must be scalars",
		"in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: object}}}":                       "the properties must be scalars",
		"in: query, style: deepObject, explode: true, schema: {type: object, additionalProperties: {type: string}}":                  "cannot bind additionalProperties",
		"in: query, style: deepObject, explode: true, schema: {type: object}":                                                        "cannot bind additionalProperties",
		"in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: string, nullable: true}}}":       "a property cannot be null",
		"in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: string, format: byte}}}":         "cannot bind the format byte in an object",
		"in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: string, format: uuid}}}":         "cannot bind the format uuid in an object",
		"in: query, schema: {type: array, items: {type: array, items: {type: string}}}":                                              "the items of an array must be scalars",
		"in: query, schema: {type: array, items: {type: object}}":                                                                    "the items of an array must be scalars",
		"in: query, schema: {type: array, items: {$ref: '#/components/schemas/Either'}}":                                             "the items of an array must be scalars",
		"in: query, schema: {type: array, items: {}}":                                                                                "the items of an array must be scalars",
		"in: query, schema: {type: array, items: {type: string, nullable: true}}":                                                    "an item cannot be null",
		"in: query, schema: {type: array, items: {type: string, format: byte}}":                                                      "cannot bind the format byte in an array",
		"in: query, schema: {allOf: [{type: array, items: {type: string}}]}":                                                         "the items of an array must be scalars",
		"in: query, allowEmptyValue: true, schema: {type: string}":                                                                   "allowEmptyValue",
		"in: query, style: deepObject, explode: true, schema: {allOf: [{$ref: '#/components/schemas/Cat'}]}":                         "cannot bind an object of allOf",
		"in: query, style: deepObject, explode: true, schema: {type: string}":                                                        "style deepObject: its schema must be an object",
		"in: query, schema: {type: object, properties: {a: {type: integer}}}":                                                        "style form: the service binds objects in the query string alone, as deepObject",
		"in: query, schema: {type: object, properties: {a: {type: integer}}}, explode: false":                                        "style form: the service binds objects in the query string alone, as deepObject",
		"in: header, schema: {type: object, properties: {a: {type: integer}}}":                                                       "style simple: the service binds objects in the query string alone, as deepObject",
		"in: header, explode: true, schema: {type: object, properties: {a: {type: integer}}}":                                        "style simple: the service binds objects in the query string alone, as deepObject",
		"in: query, style: spaceDelimited, explode: false, schema: {type: array, items: {type: string}}":                             "style spaceDelimited: the service reads form, simple and deepObject alone",
		"in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {type: string}}":                              "style pipeDelimited: the service reads form, simple and deepObject alone",
		"in: query, content: {application/json: {schema: {type: object}}}":                                                           "content: the service reads parameters that have a schema alone",
		"in: header, content: {text/plain: {schema: {type: string}}}":                                                                "content: the service reads parameters that have a schema alone",
		"in: header, schema: {type: string}, name: accept":                                                                           "HTTP itself has this header",
		"in: header, schema: {type: string}, name: Authorization":                                                                    "HTTP itself has this header",
		"in: header, schema: {type: string}, name: Host":                                                                             "HTTP itself has this header",
	} {
		if !strings.Contains(parameter, "name:") {
			parameter = "name: p, " + parameter
		}
		wantRefused(t, documentOf("get", "/x", ", parameters: [{"+parameter+"}]", ""), want)
	}
	for parameter, want := range map[string]string{
		"schema: {type: object, properties: {a: {type: integer}}}":                              "style simple: the service binds objects in the query string alone, as deepObject",
		"style: label, schema: {type: string}":                                                  "style label: the service reads form, simple and deepObject alone",
		"style: label, explode: true, schema: {type: array, items: {type: string}}":             "style label: the service reads form, simple and deepObject alone",
		"style: matrix, schema: {type: integer}":                                                "style matrix: the service reads form, simple and deepObject alone",
		"style: matrix, explode: true, schema: {type: object, properties: {a: {type: string}}}": "style matrix: the service reads form, simple and deepObject alone",
	} {
		wantRefused(t, documentOf("get", "/x/{p}", ", parameters: [{name: p, in: path, required: true, "+parameter+"}]", ""), want)
	}
	wantRefused(t, documentOf("get", "/x", ", parameters: [{name: 'p[a]', in: query, schema: {type: string}}, {name: p, in: query, style: deepObject, explode: true, schema: {type: object, properties: {a: {type: string}}}}]", ""),
		"parameters p[a] and p are both called p[a] in the query string")
}

func TestABodyThatCannotBeBoundIsRefusedAtTheStart(t *testing.T) {
	for schema, want := range map[string]string{
		"{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}":                 "oneOf or anyOf needs a name",
		"{anyOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}":                 "oneOf or anyOf needs a name",
		"{type: array, items: {oneOf: [{type: string}, {type: integer}]}}":                                  "items: oneOf or anyOf needs a name",
		"{type: object, properties: {a: {anyOf: [{type: string}, {type: integer}]}}}":                       "property a: oneOf or anyOf needs a name",
		"{type: object, additionalProperties: {oneOf: [{type: string}, {type: integer}]}}":                  "additionalProperties: oneOf or anyOf needs a name",
		"{allOf: [{$ref: '#/components/schemas/Cat'}]}":                                                     "allOf of a body needs a name",
		"{type: object, properties: {a: {type: string}}, additionalProperties: true}":                       "additionalProperties beside properties of a body needs a name",
		"{type: object, nullable: true}":                                                                    "nullable of a whole body is lost",
		"{$ref: '#/components/schemas/MaybeNull'}":                                                          "nullable of a whole body is lost",
		"{type: object, properties: {a: {allOf: [{$ref: '#/components/schemas/MaybeNull'}]}}}":              "nullable of a member of allOf is ignored",
		"{type: object, properties: {a: {allOf: [{$ref: '#/components/schemas/Either'}, {type: object}]}}}": "allOf with a oneOf or anyOf among other members",
		"{type: object, properties: {a: {type: string, allOf: [{type: string}]}}}":                          "allOf can stand beside the keywords of objects alone",
		"{type: object, properties: {a: {not: {type: string}}}}":                                            "not is no keyword that the service keeps",
		"{type: object, properties: {a: {const: 1}}}":                                                       "const",
		"{type: object, properties: {a: {type: integer, exclusiveMinimum: 1}}}":                             "exclusiveMinimum",
		"{type: object, properties: {a: {type: integer, atLeast: 1}}}":                                      "atLeast",

		"{type: string, format: binary}":                                             "format binary is none that the service can check",
		"{type: string, format: duration}":                                           "format duration is none that the service can check",
		"{type: integer, format: uint8}":                                             "format uint8 is none of the type integer",
		"{type: number, format: int32}":                                              "format int32 is none of the type number",
		"{type: boolean, format: x}":                                                 `format does not apply to the type "boolean"`,
		"{type: string, minimum: 1}":                                                 `minimum does not apply to the type "string"`,
		"{type: object, maxItems: 1}":                                                `maxItems does not apply to the type "object"`,
		"{properties: {a: {type: string}}}":                                          `properties does not apply to the type ""`,
		"{minLength: 1}":                                                             `minLength does not apply to the type ""`,
		"{type: number, multipleOf: -1}":                                             "multipleOf must be greater than 0",
		"{type: integer, enum: [9007199254740993]}":                                  "enum has a number beyond 2^53",
		"{type: integer, maximum: 9007199254740993}":                                 "maximum is beyond 2^53",
		"{type: object, discriminator: {propertyName: a}}":                           "discriminator needs oneOf or anyOf beside it",
		"{$ref: '#/components/schemas/Self'}":                                        "allOf contains itself",
		"{$ref: '#/components/schemas/Loop'}":                                        "contains itself",
		"{$ref: '#/components/schemas/Beside'}":                                      "must stand alone, but for its discriminator",
		"{$ref: '#/components/schemas/NullMember'}":                                  "nullable of a member of oneOf or anyOf is ignored",
		"{type: string, nullable: true, enum: [a]}":                                  "nullable of a whole body is lost",
		"{type: object, properties: {a: {type: string, nullable: true, enum: [b]}}}": "property a: enum beside nullable must have null among its values",
		"{$ref: '#/components/schemas/AnyTree'}":                                     "contains itself: that takes time without end",
		"{$ref: '#/components/schemas/NamedAnyTree'}":                                "contains itself: that takes time without end",
		"{$ref: '#/components/schemas/ReadOnlyTree'}":                                "contains itself: that takes time without end",
		"{$ref: '#/components/schemas/Elsewhere'}":                                   "discriminator maps x to a schema that is none of the members",
		"{$ref: '#/components/schemas/Inline'}":                                      "allOf[0]: oneOf or anyOf needs a name",
	} {
		wantRefused(t, documentOf("post", "/x", ", requestBody: {required: true, content: {application/json: {schema: "+schema+"}}}", `Self: {allOf: [{$ref: '#/components/schemas/Self'}]}
    Loop: {oneOf: [{$ref: '#/components/schemas/Back'}, {$ref: '#/components/schemas/Cat'}]}
    Back: {allOf: [{$ref: '#/components/schemas/Loop'}]}
    Beside: {type: object, properties: {c: {type: string}}, oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}
    NullMember: {oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/MaybeNull'}]}
    AnyTree: {oneOf: [{$ref: '#/components/schemas/Branch'}, {$ref: '#/components/schemas/Cat'}]}
    Branch: {type: object, properties: {c: {type: array, items: {$ref: '#/components/schemas/AnyTree'}}}}
    NamedAnyTree: {anyOf: [{$ref: '#/components/schemas/NamedBranch'}, {$ref: '#/components/schemas/Cat'}], discriminator: {propertyName: c}}
    NamedBranch: {type: object, properties: {d: {$ref: '#/components/schemas/NamedAnyTree'}}}
    ReadOnlyTree: {oneOf: [{$ref: '#/components/schemas/ReadOnlyBranch'}, {$ref: '#/components/schemas/Cat'}], discriminator: {propertyName: c}}
    ReadOnlyBranch: {type: object, properties: {i: {type: integer, readOnly: true}}, additionalProperties: {$ref: '#/components/schemas/ReadOnlyTree'}}
    Inline: {allOf: [{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}]}
    Elsewhere: {oneOf: [{$ref: '#/components/schemas/Cat'}], discriminator: {propertyName: a, mapping: {x: '#/components/schemas/Dog'}}}`), want)
	}
	for body, want := range map[string]string{
		"{content: {application/json: {schema: {type: string}}}}":                                                       "its body is not required",
		"{required: true, content: {text/plain: {schema: {type: string}}}}":                                             "or not application/json alone",
		"{required: true, content: {application/json: {schema: {type: string}}, text/plain: {schema: {type: string}}}}": "or not application/json alone",
		"{required: true, content: {application/json: {}}}":                                                             "alone with a schema",
	} {
		wantRefused(t, documentOf("post", "/x", ", requestBody: "+body, ""), want)
	}
	const body = ", requestBody: {required: true, content: {application/json: {schema: {type: string}}}}"
	wantRefused(t, documentOf("get", "/x", body, ""), "a body means nothing with GET")
	wantRefused(t, documentOf("delete", "/x", body, ""), "a body means nothing with DELETE")
}

func TestAnOperationThatCannotBeServedIsRefusedAtTheStart(t *testing.T) {
	const two = ", parameters: [{name: a, in: path, required: true, schema: {type: string}}, {name: b, in: path, required: true, schema: {type: string}}]"
	const one = ", parameters: [{name: a, in: path, required: true, schema: {type: string}}]"
	for _, c := range []struct{ method, path, operation, want string }{
		{"head", "/x", "", "an operation must be one of GET, POST, PUT, PATCH, DELETE"},
		{"options", "/x", "", "an operation must be one of"},
		{"trace", "/x", "", "an operation must be one of"},
		{"get", "/x/{a},{b}", two, `the segment "{a},{b}" of its path`},
		{"get", "/x/{a}{b}", two, `the segment "{a}{b}" of its path`},
		{"get", "/x/{a}.json", one, `the segment "{a}.json" of its path`},
		{"get", "/x/v{a}", one, `the segment "v{a}" of its path`},
		{"get", "/x:verb", "", `the segment "x:verb" of its path`},
		{"get", "/x/*", "", `the segment "*" of its path`},
		{"get", "/x", ", servers: [{url: /other}]", "it has servers of its own"},
		{"get", "/x", ", security: [{}]", "its security is not HTTP bearer authentication alone"},
		{"get", "/x", ", security: [{bearerAuth: []}, {}]", "its security is not HTTP bearer authentication alone"},
	} {
		wantRefused(t, documentOf(c.method, c.path, c.operation, ""), c.want)
	}
	wantRefused(t, []byte(strings.Replace(string(documentOf("get", "/x", "", "")), "openapi: 3.0.3", "openapi: 3.1.0", 1)), "it is written in OpenAPI 3.1.0, and the service reads 3.0")
}
