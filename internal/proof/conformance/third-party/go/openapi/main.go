// Command openapi lists, creates and gets with the client that openapi-generator
// makes for Go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/thirdparty/openapi/petstore"
)

func main() {
	ctx := context.WithValue(context.Background(), petstore.ContextAccessToken, os.Getenv("KEY"))
	config := petstore.NewConfiguration()
	config.Servers = petstore.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	pets := petstore.NewAPIClient(config).PetsAPI
	created, _, err := pets.CreatePet(ctx).PetToAdd(*petstore.NewPetToAdd("Frank", 1)).Execute()
	if err != nil {
		log.Fatal(err)
	}
	show("created", *created)
	listed, _, err := pets.ListPets(ctx).Execute()
	if err != nil {
		log.Fatal(err)
	}
	for _, pet := range listed {
		show("listed", pet)
	}
	got, _, err := pets.GetPet(ctx, created.GetId()).Execute()
	if err != nil {
		log.Fatal(err)
	}
	show("got", *got)
}

func show(verb string, pet petstore.Pet) {
	fmt.Println(verb, pet.GetId(), pet.GetName(), pet.GetStatus())
}
