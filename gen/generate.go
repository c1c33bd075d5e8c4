// Package gen is what openapi.yaml becomes: the types, the Echo server with
// its strict interface (gen/api), and a copy of the document itself. It holds
// no behaviour. Everything below this file is written by `make generate`;
// `make drift` fails when it no longer matches the document.
package gen

import _ "embed"

//go:generate cp ../openapi.yaml api/openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config types.cfg.yaml ../openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config server.cfg.yaml ../openapi.yaml

// Document is openapi.yaml byte for byte: what is served, and what every
// request is validated against. It is a copy because go:embed cannot reach
// outside its package's folder. Callers must not change it.
//
//go:embed api/openapi.yaml
var Document []byte
