package client_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// This adds the pets of a file that has one a line, as JSON.
func Example_lines() {
	s := httptest.NewServer(program.NewHandler(memory.New(), nil))
	defer s.Close()
	same := example.Body() + "\n"
	ctx, file := context.Background(), same+example.Body()+"\n"+same
	c, err := client.NewClientWithResponses(s.URL+example.Base(), client.WithKey(program.Key),
		client.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}), client.WithRetries(3))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second time, nothing is added
		if err := addLines(ctx, c, "pets.ndjson", strings.NewReader(file)); err != nil {
			log.Fatal(err)
		}
	}
	for pet, err := range client.All(ctx, c, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID)
	}
	fmt.Println(addLines(ctx, c, "others.ndjson", strings.NewReader("[]\n")))
	// Output:
	// 1
	// 2
	// 3
	// line 1: 400 "invalid_body: the body must be of type object"
}

// addLines adds the lines of a file. Called again within 24 hours, it adds only lines that
// are new, because the Idempotency-Key of a line is made of the file's name, its text, and
// the number of lines before it with the same text.
func addLines(ctx context.Context, c client.ClientWithResponsesInterface, name string, file io.Reader) error {
	same := map[string]int{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		key := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, name, text, same[text])))
		same[text]++
		params := client.CreatePetParams{IdempotencyKey: &key}
		created, err := c.CreatePetWithBodyWithResponse(ctx, &params, "application/json", strings.NewReader(text))
		if err == nil {
			err = client.Check(created.JSON201, created.HTTPResponse, created.Body)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}
