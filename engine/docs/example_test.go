package docs_test

import (
	"fmt"

	"example.com/petstore/engine/docs"
	"example.com/petstore/engine/edge"
)

func Example() {
	document, err := edge.ParseDocument([]byte(notes), []byte(notes))
	if err != nil {
		panic(err)
	}
	options := edge.Options{Docs: docs.New(document, "")} // of edge.New
	fmt.Println(options.Docs[0].Path)
	// Output: /docs
}
