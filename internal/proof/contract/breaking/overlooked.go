package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/contract"
)

// overlooked returns the changes that break a client and that oasdiff does not
// report at all. The tests show it for each.
func overlooked(before, after *openapi3.T) []string {
	var f findings
	f.servers(before.Servers, after.Servers)
	f.securitySchemes(before, after)
	f.codes(before, after)
	if b, a := before.OpenAPIMajorMinor(), after.OpenAPIMajorMinor(); b != a {
		f.add("the document is OpenAPI %s and was %s, which is what clients' generators read", a, b)
	}
	for path, item := range before.Paths.Map() {
		for method, o := range item.Operations() {
			now := after.Paths.Value(path)
			if now == nil || now.GetOperation(method) == nil {
				continue // oasdiff reports it
			}
			f.operation(after, method+" "+path, o, now.GetOperation(method))
			if !same(item.Servers, now.Servers) || !same(o.Servers, now.GetOperation(method).Servers) {
				f.add("%s %s: it has other servers of its own", method, path)
			}
		}
	}
	slices.Sort(f)
	return slices.Compact(f)
}

type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// servers: generated clients take their addresses from there, by default the first.
func (f *findings) servers(before, after openapi3.Servers) {
	for i, b := range before {
		if i >= len(after) || after[i].URL != b.URL || !same(after[i].Variables, b.Variables) {
			f.add("server %d is no longer %s", i+1, b.URL)
		}
	}
}

// securitySchemes: oasdiff does not compare all of them, and calls the changes that
// it sees information, whatever level its rule has.
func (f *findings) securitySchemes(before, after *openapi3.T) {
	if before.Components == nil || after.Components == nil {
		return
	}
	for name, b := range before.Components.SecuritySchemes {
		a := after.Components.SecuritySchemes[name]
		if a == nil {
			continue // oasdiff reports it where an operation asks for it
		}
		was, is := *b.Value, *a.Value
		was.Description, is.Description = "", ""
		was.Extensions, is.Extensions = nil, nil
		was.Origin, is.Origin = nil, nil
		if !same(was, is) {
			f.add("the security scheme %s is another", name)
		}
	}
}

// codes: clients switch on the codes that the table lists.
func (f *findings) codes(before, after *openapi3.T) {
	now := contract.Codes(after)
	for status, codes := range contract.Codes(before) {
		for _, code := range codes {
			if !slices.Contains(now[status], code) {
				f.add("the table of codes no longer lists the code %s of %d", code, status)
			}
		}
	}
}

func (f *findings) operation(document *openapi3.T, where string, before, after *openapi3.Operation) {
	// oasdiff reports a date that is removed, but not one that is moved.
	for _, name := range []string{"x-sunset", "x-deprecated-at"} {
		if b, was := before.Extensions[name]; was && b != after.Extensions[name] {
			f.add("%s: %s is no longer %v, with which clients plan", where, name, b)
		}
	}
	if !sameOrder(before.Parameters, after.Parameters) {
		f.add("%s: parameters come before others than they did, and generated code passes them in their order", where)
	}
	for _, p := range before.Parameters {
		if a := after.Parameters.GetByInAndName(p.Value.In, p.Value.Name); a != nil {
			f.parameter(where+", parameter "+a.Name, p.Value, a)
		}
	}
	if before.RequestBody != nil && after.RequestBody != nil {
		f.content(where+", request", before.RequestBody.Value.Content, after.RequestBody.Value.Content, request)
	}
	for status, b := range before.Responses.Map() {
		if a := after.Responses.Value(status); a != nil {
			f.response(document, where+", "+status, b.Value, a.Value)
		}
	}
}

// sameOrder reports whether after begins with the parameters of before. One that
// is gone is oasdiff's to report.
func sameOrder(before, after openapi3.Parameters) bool {
	for i, b := range before {
		if after.GetByInAndName(b.Value.In, b.Value.Name) == nil {
			return true
		}
		if a := after[i].Value; a.In != b.Value.In || a.Name != b.Value.Name {
			return false
		}
	}
	return true
}

func (f *findings) parameter(where string, before, after *openapi3.Parameter) {
	b, _ := before.SerializationMethod()
	a, _ := after.SerializationMethod()
	if !reflect.DeepEqual(b, a) || before.AllowReserved && !after.AllowReserved {
		f.add("%s: its style is another, so clients write it otherwise", where)
	}
	f.schema(where, before.Schema, after.Schema, request, nil)
}

func (f *findings) response(document *openapi3.T, where string, before, after *openapi3.Response) {
	for name, b := range before.Headers {
		if a := after.Headers[name]; a != nil {
			f.schema(where+", header "+name, b.Value.Schema, a.Value.Schema, header, nil)
		}
	}
	for name, b := range before.Links {
		target := b.Value.OperationID
		if a := after.Links[name]; target != "" && operation(document, target) == nil {
			continue // the operation is gone, and its link with it
		} else if a == nil || a.Value.OperationID != target || a.Value.OperationRef != b.Value.OperationRef || !same(a.Value.Parameters, b.Value.Parameters) {
			f.add("%s: the link %s is gone or leads elsewhere", where, name)
		}
	}
	f.content(where, before.Content, after.Content, response)
}

func operation(document *openapi3.T, id string) *openapi3.Operation {
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			if o.OperationID == id {
				return o
			}
		}
	}
	return nil
}

func (f *findings) content(where string, before, after openapi3.Content, d direction) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if a := after[name]; a != nil {
			f.schema(where, before[name].Schema, a.Schema, d, nil)
		}
	}
}

// same compares as JSON, where 1 and 1.0 are one number.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
