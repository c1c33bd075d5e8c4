package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

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

// Unvisited returns the documented statuses and headers that the judge has never
// seen: statuses as in "getPet 404", headers as in "201 Location".
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

// Codes returns the codes of the Error body by their status, as the document's
// table lists them.
func (j *Judge) Codes() map[int][]string { return j.codes }

// Document returns the document, which callers must not change.
func (j *Judge) Document() *openapi3.T { return j.document }
