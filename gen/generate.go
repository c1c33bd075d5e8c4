// Package gen holds what "make generate" writes from openapi.yaml: types and the Echo server.
package gen

import _ "embed"

//go:generate cp ../openapi.yaml api/openapi.yaml
//go:generate sh -c "go run github.com/mikefarah/yq/v4@v4.54.3 -o json ../openapi.yaml >api/openapi.json"
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package api -generate types,echo-server,strict-server -o api/api.gen.go ../openapi.yaml

// Document is openapi.yaml, byte for byte: a copy, since go:embed cannot reach the original.
//
//go:embed api/openapi.yaml
var Document []byte

// DocumentJSON is the same in JSON, with the properties in the same order.
//
//go:embed api/openapi.json
var DocumentJSON []byte
