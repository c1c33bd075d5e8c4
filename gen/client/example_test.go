package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
)

// This adds the rows of a spreadsheet that was saved as CSV, with a name, a categoryId
// and perhaps a status in each.
func Example_csv() {
	s := program.NewServer(newService(0))
	defer s.Close()
	ctx, file := context.Background(), "name,categoryId,status\nFrank,1,\nLucy,2,sold\nFrank,1,\n"
	c, err := client.NewClientWithResponses(s.URL+example.Base(), client.WithKey(program.Key),
		client.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}), client.WithRetries(3))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second time, nothing is added
		if err := addRows(ctx, c, "pets.csv", strings.NewReader(file)); err != nil {
			log.Fatal(err)
		}
	}
	for pet, err := range client.All(ctx, c, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}
	fmt.Println(addRows(ctx, c, "others.csv", strings.NewReader("name,categoryId,status\nMax,1,lost\n")))
	// Output:
	// 1 Frank
	// 2 Lucy
	// 3 Frank
	// row 2: 400 invalid_body: status must be one of available, pending, sold
}

// addRows adds the rows of a file after its first line. Called again within 24 hours, it
// adds only rows that are new, because the Idempotency-Key of a row is made of the file's
// name, the row's text, and the number of rows before it with the same text.
func addRows(ctx context.Context, c client.ClientWithResponsesInterface, name string, file io.Reader) error {
	r := csv.NewReader(file)
	r.FieldsPerRecord = 3
	rows, err := r.ReadAll()
	if err != nil {
		return err
	}
	same := map[string]int{}
	for i, row := range rows[min(1, len(rows)):] {
		categoryID, err := strconv.ParseInt(row[1], 10, 64)
		if err != nil {
			return fmt.Errorf("row %d: %w", i+2, err)
		}
		pet := client.NewPet{Name: row[0], CategoryID: categoryID}
		if row[2] != "" {
			pet.Status = (*client.PetStatus)(&row[2])
		}
		text := fmt.Sprintf("%q", row)
		key := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, name, text, same[text])))
		same[text]++
		created, err := c.CreatePetWithResponse(ctx, &client.CreatePetParams{IdempotencyKey: &key}, pet)
		if err == nil {
			err = client.Check(created.JSON201, created.HTTPResponse, created.Body)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", i+2, err)
		}
	}
	return nil
}
