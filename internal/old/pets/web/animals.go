package web

import (
	"example.com/petstore/internal/old/gen"
	"example.com/petstore/internal/old/gen/api"
	"example.com/petstore/internal/old/edge"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/files"
	"example.com/petstore/internal/old/pets/service"
)

// Body returns how the service reads the body of createPet, so that files of animals
// are read in the same way.
func Body() (files.Body, error) {
	read, err := edge.BodyReader[api.NewPet](gen.Document, "createPet")
	if err != nil {
		return files.Body{}, err
	}
	return files.Body{Max: edge.MaxBody, Read: func(text []byte, whole string) (map[string]any, pets.NewPet, error) {
		value, body, err := read(text, whole)
		if err != nil {
			return nil, pets.NewPet{}, err
		}
		return value.(map[string]any), service.NewPet(body), nil // the document says that it is an object
	}}, nil
}
