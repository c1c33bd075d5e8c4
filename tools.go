//go:build tools

// Package tools pins the generator that writes gen/ from openapi.yaml: its
// version is in go.mod, so every machine generates the same code. The Makefile
// pins linters and checkers, which it runs outside this module.
package tools

import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
