// Command ogen lists, creates and gets with the client that ogen makes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/thirdparty/ogen/petstore"
)

type key string

func (k key) BearerAuth(context.Context, petstore.OperationName) (petstore.BearerAuth, error) {
	return petstore.BearerAuth{Token: string(k)}, nil
}

func main() {
	ctx := context.Background()
	client, err := petstore.NewClient(os.Getenv("BASE_URL"), key(os.Getenv("KEY")))
	if err != nil {
		log.Fatal(err)
	}
	response, err := client.CreatePet(ctx, &petstore.NewPet{Name: "Frank", CategoryId: 1}, petstore.CreatePetParams{})
	if err != nil {
		log.Fatal(err)
	}
	created, ok := response.(*petstore.PetCreatedHeaders)
	if !ok {
		log.Fatalf("createPet: got %T", response)
	}
	show("created", created.Response)
	page, err := client.ListPets(ctx, petstore.ListPetsParams{})
	if err != nil {
		log.Fatal(err)
	}
	listed, ok := page.(*petstore.PetsHeaders)
	if !ok {
		log.Fatalf("listPets: got %T", page)
	}
	for _, pet := range listed.Response {
		show("listed", pet)
	}
	found, err := client.GetPet(ctx, petstore.GetPetParams{PetId: created.Response.ID})
	if err != nil {
		log.Fatal(err)
	}
	got, ok := found.(*petstore.PetFoundHeaders)
	if !ok {
		log.Fatalf("getPet: got %T", found)
	}
	show("got", got.Response)
}

func show(verb string, pet petstore.Pet) {
	fmt.Println(verb, pet.ID, pet.Name, pet.Status.Value)
}
