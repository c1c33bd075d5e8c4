// Package gen holds what "make generate" writes from openapi.yaml: types and the Echo server.
package gen

import _ "embed"

//go:generate cp ../openapi.yaml api/openapi.yaml
//go:generate sh -c "go run github.com/mikefarah/yq/v4@v4.54.3 -o json ../openapi.yaml >api/openapi.json"
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config config.yaml -package api -generate types,echo-server,strict-server -o api/api.gen.go ../openapi.yaml

// Document and DocumentJSON are openapi.yaml, byte for byte, and the same in JSON.
var (
	//go:embed api/openapi.yaml
	Document []byte
	//go:embed api/openapi.json
	DocumentJSON []byte
)
