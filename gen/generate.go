// Package gen holds the code generated from openapi.yaml: the types, the
// Echo server and the document as JSON in gen/api, and the Go client in gen/client. "make generate"
// writes it and "make drift" fails if it does not match the document. The files in
// gen/client that do not end in .gen.go are written by hand.
package gen

import _ "embed"

//go:generate cp ../openapi.yaml api/openapi.yaml
//go:generate sh -c "go run github.com/mikefarah/yq/v4@v4.54.3 -o json ../openapi.yaml >api/openapi.json"
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package api -generate types,echo-server,strict-server -o api/api.gen.go ../openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package client -generate types,client -o client/client.gen.go ../openapi.yaml

// Document is openapi.yaml, byte for byte. It is a copy, because go:embed
// cannot reach files outside the package's directory.
//
//go:embed api/openapi.yaml
var Document []byte

// DocumentJSON is the document as JSON, with its properties in the same order.
//
//go:embed api/openapi.json
var DocumentJSON []byte
