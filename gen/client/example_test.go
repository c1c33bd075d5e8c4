package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/petstore/internal/pets/web"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/pets/store/memory"
)

// forExample serves an empty store: its address takes the place of yours.
func forExample() (address string, stop func()) {
	s, err := serve(memory.New(), web.BasePath)
	if err != nil {
		log.Fatal(err)
	}
	return s.URL + web.BasePath, s.Close
}

func Example() {
	address, stop := forExample() // http://127.0.0.1:8080/v1
	defer stop()
	ctx := context.Background()

	c, err := client.NewClientWithResponses(address, client.WithKey(key))
	if err != nil {
		log.Fatal(err)
	}
	made, err := c.CreatePetWithResponse(ctx, nil, client.NewPet{Name: "Frank", CategoryID: 1})
	if err != nil {
		log.Fatal(err) // no response came
	}
	if err := client.Check(made.JSON201, made.HTTPResponse, made.Body); err != nil {
		log.Fatal(err) // the service refused
	}
	fmt.Println(made.JSON201.ID, made.JSON201.Name, *made.JSON201.Status)
	// Output: 1 Frank available
}

func ExampleAll() {
	address, stop := forExample()
	defer stop()
	ctx := context.Background()
	c, err := client.NewClientWithResponses(address, client.WithKey(key))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Frank", "Kitty", "Rex"} {
		if _, err := c.CreatePetWithResponse(ctx, nil, client.NewPet{Name: name, CategoryID: 1}); err != nil {
			log.Fatal(err)
		}
	}

	params := client.ListPetsParams{Status: new(client.PetStatusAvailable), Limit: new(100)}
	for pet, err := range client.All(ctx, c, &params) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}
	// Output:
	// 1 Frank
	// 2 Kitty
	// 3 Rex
}

// An Idempotency-Key makes it safe to send a request again whose response never
// came: however often it arrives, it makes one pet.
func ExampleCreatePetParams() {
	address, stop := forExample()
	defer stop()
	ctx := context.Background()
	c, err := client.NewClientWithResponses(address, client.WithKey(key))
	if err != nil {
		log.Fatal(err)
	}

	once := client.CreatePetParams{IdempotencyKey: new("8e03978e-40d5-43dd-bc93-6894a57f9324")}
	for range 2 {
		made, err := c.CreatePetWithResponse(ctx, &once, client.NewPet{Name: "Frank", CategoryID: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("pet", made.JSON201.ID)
	}
	// Output:
	// pet 1
	// pet 1
}

func ExampleResponseError() {
	address, stop := forExample()
	defer stop()
	c, err := client.NewClientWithResponses(address, client.WithKey(key))
	if err != nil {
		log.Fatal(err)
	}

	for _, err := range client.All(context.Background(), c, &client.ListPetsParams{Limit: new(101)}) {
		if failed, ok := errors.AsType[*client.ResponseError](err); ok {
			fmt.Println(failed.Status, failed.Code)
			fmt.Println(failed.Message)
		}
	}
	// Output:
	// 400 invalid_parameter
	// limit must be between 1 and 100
}
