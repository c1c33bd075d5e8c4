package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"example.com/petstore/internal/files"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
)

// sandboxAnimals has 300 animals from the outcome records of the Austin Animal
// Center, which the City of Austin publishes as open data. categoryId is 1 for
// dogs, 2 for cats, 3 for birds, 4 for livestock and 5 for others.
//
//go:embed sandbox.csv
var sandboxAnimals string

func fillSandbox(ctx context.Context, st pets.PetStore) error {
	judge, err := service.BodyDecoder()
	if err != nil {
		return err
	}
	rows := files.Read(strings.NewReader(sandboxAnimals), files.Options{Name: "sandbox.csv", Format: files.CSV, Judge: judge})
	_, err = files.Import(ctx, st, rows, false)
	return err
}

// printSandbox prints how to use the sandbox, in a form that a shell reads.
func printSandbox(ctx context.Context, env environment, st pets.KeyStore, makesKey bool, url string) error {
	text := "PETSTORE_URL=" + url + "\n"
	if makesKey {
		token, err := makeKey(ctx, st, "sandbox")
		if err != nil {
			return err
		}
		text += "PETSTORE_KEY=" + token + "\n"
	}
	_, err := fmt.Fprint(env.stdout, text)
	return err
}
