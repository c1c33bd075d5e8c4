package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

const key = program.Key

// serve starts a service on a store, behind proxies.
func serve(store *memory.Store, proxies ...func(http.Handler) http.Handler) (url string, stop func()) {
	service, err := program.NewHandler(store, nil)
	if err != nil {
		log.Fatal(err)
	}
	var h http.Handler = service
	for _, proxy := range proxies {
		h = proxy(h)
	}
	s := program.NewServer(h)
	return s.URL + example.Base(), s.Close
}

func Example() {
	url, stop := serve(memory.New()) // for you, http://127.0.0.1:8080/v1
	defer stop()
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
