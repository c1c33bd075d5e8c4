// Package gen holds the code that is generated from openapi.yaml: the types and the
// Echo server with its strict interface (gen/api), and the Go client (gen/client). A
// copy of the document stands beside them. There is no behaviour here. `make
// generate` writes the copy and the files that end in .gen.go; `make drift` fails
// where they no longer match the document. The other files of gen/client are written
// by hand, because Go teams import that package. They add no method to a generated
// type.
package gen

import _ "embed"


// Document is openapi.yaml byte for byte. The service serves it and validates every
// request against it. It is a copy because go:embed cannot reach outside its
// package's folder. Callers must not change it.
//
//go:embed api/openapi.yaml
var Document []byte
