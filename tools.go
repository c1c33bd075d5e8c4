//go:build tools

// Package tools pins the generator that writes gen/ from openapi.yaml: its
// version stands in go.mod, so every machine generates the same code.
// Linters and checkers are pinned in the Makefile instead; they run from
// module versions of their own and leave go.mod to the needs of the service.
package tools

import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
