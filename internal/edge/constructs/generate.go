// Package constructs is a document with every construct of OpenAPI 3.0 that
// works in this service, and the code made from it exactly as gen/ is made from
// openapi.yaml. The tests of internal/edge send requests through both.
package constructs

import _ "embed"

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config ../../../gen/types.cfg.yaml openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config ../../../gen/server.cfg.yaml openapi.yaml

// Document is openapi.yaml. Callers must not change it.
//
//go:embed openapi.yaml
var Document []byte
