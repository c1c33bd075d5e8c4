package fault_test

import (
	"errors"
	"fmt"

	"example.com/petstore/engine/fault"
)

func Example() {
	conflict := fault.Kind{Code: "conflict", Status: 409}
	for _, err := range []error{
		fault.New(conflict, "there is another book with this title"),
		fault.Wrap(fault.Unavailable, errors.New("connection refused")),
		errors.New("a mistake"),
	} {
		kind := fault.KindOf(fmt.Errorf("add a book: %w", err))
		fmt.Println(kind.Status, kind.Code, fault.ByCaller(err))
	}
	// Output:
	// 409 conflict true
	// 503 unavailable false
	// 500 internal false
}
