// Package contract reads the parts of openapi.yaml for which OpenAPI has no words:
// the table of error codes and the dates of a deprecation. Its tests hold the
// document against the specification and against itself. contracttest holds
// responses against the document, breaking the document against the last release.
package contract

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// BasePath is the path below which the operations stand.
const BasePath = "/v1"

var codeRow = regexp.MustCompile("(?m)^\\| ([0-9]{3}) \\| `([a-z_]+)` \\|")

// Codes reads the table of codes in the descriptions of the document's tags: the
// codes of the Error body by their status.
func Codes(document *openapi3.T) map[int][]string {
	codes := map[int][]string{}
	for _, tag := range document.Tags {
		for _, row := range codeRow.FindAllStringSubmatch(tag.Description, -1) {
			status, _ := strconv.Atoi(row[1]) // three digits
			codes[status] = append(codes[status], row[2])
		}
	}
	return codes
}

// Overdue returns the operations of the document that should have been removed
// by that day.
func Overdue(document *openapi3.T, today time.Time) (operationIDs []string, err error) {
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			if _, ends := o.Extensions["x-sunset"]; !ends {
				continue
			}
			sunset, err := Date(o, "x-sunset")
			if err != nil {
				return nil, err
			}
			if today.After(sunset) {
				operationIDs = append(operationIDs, o.OperationID)
			}
		}
	}
	return operationIDs, nil
}

// Date reads a date that an extension of the operation keeps as a string in
// quotes, such as x-sunset.
func Date(o *openapi3.Operation, name string) (time.Time, error) {
	text, ok := o.Extensions[name].(string)
	if !ok {
		return time.Time{}, fmt.Errorf("%s of %s: got %v, want a date in quotes", name, o.OperationID, o.Extensions[name])
	}
	return time.Parse(time.DateOnly, text)
}
