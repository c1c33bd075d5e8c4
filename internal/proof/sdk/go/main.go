// Command go is the story in Go: how a team uses gen/client. It takes the
// address and the API key of a server without pets from BASE_URL and KEY.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"

	"example.com/petstore/gen/client"
)

func main() {
	if err := story(context.Background(), os.Getenv("BASE_URL"), os.Getenv("KEY")); err != nil {
		log.Fatal(err)
	}
}

func story(ctx context.Context, base, key string) error {
	c, err := client.NewClientWithResponses(base, client.WithKey(key))
	if err != nil {
		return err
	}

	// Add some pets. A categoryId may be any int64.
	for _, pet := range []client.NewPet{
		{Name: "Frank", CategoryID: 9007199254740993, Status: new(client.PetStatusPending)},
		{Name: "Kitty", CategoryID: 2}, // available, where no status is given
		{Name: "Rex", CategoryID: 3, Status: new(client.PetStatusSold)},
		{Name: "Luna", CategoryID: 4},
		{Name: "Zoë 🐕", CategoryID: -5, Status: new(client.PetStatusSold)},
	} {
		made, err := create(ctx, c, pet, rand.Text())
		if err != nil {
			return err
		}
		fmt.Printf("created %d %s, category %d, %s\n", made.ID, made.Name, made.CategoryID, *made.Status)
	}

	// List all of them: All follows the links from page to page.
	for pet, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(2)}) {
		if err != nil {
			return err
		}
		fmt.Printf("listed %d %s\n", pet.ID, pet.Name)
	}
	for pet, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(1), Status: new(client.PetStatusSold)}) {
		if err != nil {
			return err
		}
		fmt.Printf("sold: %d %s\n", pet.ID, pet.Name)
	}

	// Get one. The operation is deprecated, and every response says until when.
	//lint:ignore SA1019 the story shows what a deprecation looks like
	got, err := c.GetPetWithResponse(ctx, 1)
	if err != nil {
		return err
	}
	if got.JSON200 == nil {
		return fmt.Errorf("%s: %s", got.Status(), got.Body)
	}
	fmt.Printf("got %d %s, category %d; this operation ends on %s\n", got.JSON200.ID, got.JSON200.Name, got.JSON200.CategoryID, got.HTTPResponse.Header.Get("Sunset"))

	// A refusal comes as an error that says why.
	for _, err := range client.All(ctx, c, &client.ListPetsParams{Limit: new(101)}) {
		refused(err)
	}
	other, err := client.NewClientWithResponses(base, client.WithKey("not-a-key-of-this-server"))
	if err != nil {
		return err
	}
	for _, err := range client.All(ctx, other, nil) {
		refused(err)
	}
	//lint:ignore SA1019 as above
	none, err := c.GetPetWithResponse(ctx, 999)
	if err != nil {
		return err
	}
	refused(client.Check(none.JSON200, none.HTTPResponse, none.Body))

	// Send a request again whose response was lost: the same key, the same pet.
	once := rand.Text()
	pet := client.NewPet{Name: "Max", CategoryID: 6}
	for range 2 {
		made, err := create(ctx, c, pet, once)
		if err != nil {
			return err
		}
		fmt.Printf("sent %s, it is %d\n", made.Name, made.ID)
	}
	pet.CategoryID = 7
	_, err = create(ctx, c, pet, once)
	refused(err)
	return nil
}

// create adds a pet. It may be called again with the same key: that makes one.
func create(ctx context.Context, c *client.ClientWithResponses, pet client.NewPet, once string) (*client.Pet, error) {
	response, err := c.CreatePetWithResponse(ctx, &client.CreatePetParams{IdempotencyKey: &once}, pet)
	if err != nil {
		return nil, err // no response came
	}
	return response.JSON201, client.Check(response.JSON201, response.HTTPResponse, response.Body)
}

// refused tells why a request was refused.
func refused(err error) {
	if e, ok := errors.AsType[*client.ResponseError](err); ok {
		fmt.Printf("refused: %d %s: %s\n", e.Status, e.Code, e.Message)
	}
}
