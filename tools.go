//go:build tools

// Package tools pins the generator that writes gen/ from openapi.yaml: its
// version stands in go.mod, so every machine generates the same code. Linters
// and checkers are pinned in the Makefile, which runs them outside this module.
package tools

import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
