//go:build ignore

// This program copies openapi.yaml into the package that embeds it.
package main

import (
	"log"
	"os"
)

func main() {
	document, err := os.ReadFile("../openapi.yaml")
	if err == nil {
		err = os.WriteFile("api/openapi.yaml", document, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
