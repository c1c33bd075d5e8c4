// Package gen is what openapi.yaml becomes: the types, the Echo server with
// its strict interface (gen/api), the Go client (gen/client), and a copy of the
// document itself. It holds no behaviour. What ends in .gen.go, and the copy, is
// written by `make generate`; `make drift` fails when it no longer matches the
// document. The other files of gen/client are written by hand: they stand there
// because Go teams import that package, and hang no method on what is generated.
package gen

import _ "embed"

//go:generate cp ../openapi.yaml api/openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config types.cfg.yaml ../openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config server.cfg.yaml ../openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config client.cfg.yaml ../openapi.yaml

// Document is openapi.yaml byte for byte: what is served, and what every
// request is validated against. It is a copy because go:embed cannot reach
// outside its package's folder. Callers must not change it.
//
//go:embed api/openapi.yaml
var Document []byte
