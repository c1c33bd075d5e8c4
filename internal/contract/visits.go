package contract

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// visits remembers which responses of which operations a judge has seen.
type visits struct {
	mu        sync.Mutex
	responses map[string]bool // operationId and status: "listPets 200"
	headers   map[string]bool // status and header: "201 Location"
}

func (v *visits) add(operationID string, response *http.Response) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.responses == nil {
		v.responses, v.headers = map[string]bool{}, map[string]bool{}
	}
	v.responses[fmt.Sprint(operationID, " ", response.StatusCode)] = true
	for name := range response.Header {
		v.headers[fmt.Sprint(response.StatusCode, " ", name)] = true
	}
}

// Unvisited returns what the document promises and the judge has never seen:
// the statuses of each operation, as in "getPet 404", and the headers of each
// status, as in "201 Location".
func (j *Judge) Unvisited() []string {
	j.visits.mu.Lock()
	defer j.visits.mu.Unlock()
	missing := map[string]bool{}
	for _, item := range j.document.Paths.Map() {
		for _, o := range item.Operations() {
			for status, response := range o.Responses.Map() {
				if name := o.OperationID + " " + status; !j.visits.responses[name] {
					missing[name] = true
				}
				for header := range response.Value.Headers {
					if name := status + " " + http.CanonicalHeaderKey(header); !j.visits.headers[name] {
						missing[name] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

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

// Codes returns the codes of the Error body by their status, as the document's
// table lists them.
func (j *Judge) Codes() map[int][]string { return j.codes }

// Document returns the document, which callers must not change.
func (j *Judge) Document() *openapi3.T { return j.document }

// Overdue returns the operations of the document that should have been removed
// by that day.
func Overdue(document *openapi3.T, today time.Time) (operationIDs []string, err error) {
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			if _, ends := o.Extensions["x-sunset"]; !ends {
				continue
			}
			sunset, err := extensionDate(o, "x-sunset")
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
