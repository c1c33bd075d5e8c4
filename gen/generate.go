// Package gen holds the code generated from openapi.yaml: the types and the
// Echo server in gen/api, and the Go client in gen/client. "make generate"
// writes it and "make drift" fails if it does not match the document. The files in
// gen/client that do not end in .gen.go are written by hand.
package gen

import _ "embed"

//go:generate go run copy.go
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package api -generate types,echo-server,strict-server -o api/api.gen.go ../openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package client -generate types,client -o client/client.gen.go ../openapi.yaml

// Document is openapi.yaml, byte for byte. It is a copy, because go:embed
// cannot reach files outside the package's directory.
//
//go:embed api/openapi.yaml
var Document []byte
