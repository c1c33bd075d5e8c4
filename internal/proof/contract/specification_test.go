package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/example"
)

// TestSpecification tests what `make breaking` does not compare with the contract as
// it was given: the names of the servers and of the operations, and deprecations.
func TestSpecification(t *testing.T) {
	given, err := openapi3.NewLoader().LoadFromFile("specification.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document := example.Document()
	for i, name := range []string{"`base_url`", "`staging_base_url`"} {
		if i >= len(document.Servers) || !strings.Contains(document.Servers[i].Description, name) {
			t.Errorf("server %d: got a description without %s", i+1, name)
		}
	}
	for path, item := range given.Paths.Map() {
		for method, want := range item.Operations() {
			got := document.Paths.Value(path).Operations()[method]
			if got.OperationID != want.OperationID || got.Deprecated != want.Deprecated || want.Deprecated && date(got, "x-sunset") != date(want, "x-sunset") {
				t.Errorf("%s %s: got operationId %s, deprecated %t, x-sunset %v, want them as they were given", method, path, got.OperationID, got.Deprecated, date(got, "x-sunset"))
			}
		}
	}
}

// overdue returns the deprecated operations whose sunset date is past at now.
func overdue(now time.Time) (ids []string) {
	for _, item := range example.Document().Paths.Map() {
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
	for _, id := range overdue(time.Now()) {
		t.Errorf("%s: got past its x-sunset, want it removed from openapi.yaml", id)
	}
	if got := overdue(time.Date(2030, 12, 6, 0, 0, 0, 0, time.UTC)); !slices.Contains(got, "getPet") {
		t.Errorf("on 6 December 2030: got %v, want getPet", got)
	}
}
