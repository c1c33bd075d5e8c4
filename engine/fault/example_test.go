package fault_test

import (
	"errors"
	"fmt"
	"io"

	"example.com/petstore/engine/fault"
)

func Example() {
	conflict := fault.Kind{Code: "conflict", Status: 409}
	for _, err := range []error{
		fault.New(conflict, "there is another book with this title"),
		fault.New(conflict, ""),
		fault.Wrap(fault.Unavailable, errors.New("connection refused")),
		&fault.Error{Kind: fault.InvalidBody, Message: "the body is cut", Err: io.EOF},
		io.EOF,
	} {
		kind := fault.KindOf(fmt.Errorf("add a book: %w", err))
		fmt.Println(kind.Status, kind.Code, fault.ByCaller(err), errors.Is(err, io.EOF), err)
	}
	// Output:
	// 409 conflict true false there is another book with this title
	// 409 conflict true false conflict
	// 503 unavailable false false connection refused
	// 400 invalid_body true true the body is cut: EOF
	// 500 internal false true EOF
}
