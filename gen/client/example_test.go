package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
)

func Example() {
	s := program.NewServer(newService(0))
	defer s.Close()
	url, key := s.URL+example.Base(), program.Key // for you, http://127.0.0.1:8080/v1 and a key

	ctx := context.Background()
	c, err := client.NewClientWithResponses(url, client.WithKey(key), client.WithRetries(3))
	if err != nil {
		log.Fatal(err)
	}
	created, err := c.CreatePetWithResponse(ctx, nil, client.NewPet{Name: "Frank", CategoryID: 1})
	if err != nil {
		log.Fatal(err) // there was no response
	}
	if err := client.Check(created.JSON201, created.HTTPResponse, created.Body); err != nil {
		log.Fatal(err) // the service refused the request
	}
	fmt.Println("created", created.JSON201.ID)

	for pet, err := range client.All(ctx, c, &client.ListPetsParams{Status: new(client.PetStatusAvailable)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}

	for _, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(101)}) {
		if e, ok := errors.AsType[*client.ResponseError](err); ok {
			fmt.Println(e.Status, e.Code, e.Message)
		}
	}
	// Output:
	// created 1
	// 1 Frank
	// 400 invalid_parameter limit must be between 1 and 100
}
