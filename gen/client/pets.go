package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// All returns all pets that params select, in ascending order of ID. It requests a page
// of 100, or of params.Limit, when the loop needs it. Each pet that existed when the loop
// began is returned exactly once, even if others are added meanwhile.
//
// An error ends the loop. It is a *ResponseError if the service rejected a request.
//
// A pet may appear after one with a greater ID, within 10 s. To find new pets later, pass
// as params.After the greatest ID that was known 10 s before the last loop began, and drop
// the pets that are known.
func All(ctx context.Context, c ClientWithResponsesInterface, params *ListPetsParams,
	editors ...RequestEditorFn,
) iter.Seq2[Pet, error] {
	first := ListPetsParams{Limit: new(100), After: new(int64(0))} // the maximum, and the beginning
	text, _ := json.Marshal(params)
	_ = json.Unmarshal(text, &first) // a copy that shares no pointers with params
	return func(yield func(Pet, error) bool) {
		next := first
		for {
			response, err := c.ListPetsWithResponse(ctx, &next, editors...)
			if err == nil {
				err = Check(response.JSON200, response.HTTPResponse, response.Body)
			}
			if err != nil {
				yield(Pet{}, fmt.Errorf("listing the pets: %w", err))
				return
			}
			if len(*response.JSON200) == 0 { // the page after the last pet
				return
			}
			for _, pet := range *response.JSON200 {
				if pet.ID <= *next.After { // else a repeated page would never end
					yield(Pet{}, fmt.Errorf("listing the pets: got no further pets after %d", *next.After))
					return
				}
				if !yield(pet, nil) {
					return
				}
				next.After = &pet.ID
			}
		}
	}
}

// CreatePet adds a pet. To be able to repeat it after an error, set params.IdempotencyKey.
func CreatePet(ctx context.Context, c ClientWithResponsesInterface, params *CreatePetParams, pet NewPet,
	editors ...RequestEditorFn,
) (Pet, error) {
	response, err := c.CreatePetWithResponse(ctx, params, pet, editors...)
	if err == nil {
		err = Check(response.JSON201, response.HTTPResponse, response.Body)
	}
	if err != nil {
		return Pet{}, fmt.Errorf("adding a pet: %w", err)
	}
	return *response.JSON201, nil
}

// GetPet returns one pet.
//
// Deprecated: Use All, with params.After one less than the ID and a Limit of 1.
func GetPet(ctx context.Context, c ClientWithResponsesInterface, id int64, editors ...RequestEditorFn) (Pet, error) {
	response, err := c.GetPetWithResponse(ctx, id, editors...)
	if err == nil {
		err = Check(response.JSON200, response.HTTPResponse, response.Body)
	}
	if err != nil {
		return Pet{}, fmt.Errorf("getting the pet %d: %w", id, err)
	}
	return *response.JSON200, nil
}

// ResponseError is a response other than the expected success.
type ResponseError struct {
	Status     int           // the HTTP status
	Header     http.Header   // of the response
	Code       string        // such as CodeNotFound; empty if the response is not from the pet store
	Message    string        // a sentence for the developer of the client
	RequestID  string        // identifies the request in the service's log; may be empty
	RetryAfter time.Duration // how long to wait before trying again; 0 if the response does not say
}

// Error quotes what the server said, and returns at most 1 KiB.
func (e *ResponseError) Error() string {
	text := fmt.Sprintf("%d %q", e.Status, strings.TrimPrefix(e.Code+": "+e.Message, ": "))
	return strings.ToValidUTF8(text[:min(len(text), 1<<10)], "")
}

// Check returns a *ResponseError unless success, the decoded body of the expected
// response, is set, the body is not null, and a pet has an ID.
func Check[T any](success *T, response *http.Response, body []byte) error {
	pet, isPet := any(success).(*Pet)
	if success != nil && string(bytes.TrimSpace(body)) != "null" && (!isPet || pet.ID > 0) {
		return nil
	}
	e := &ResponseError{Status: response.StatusCode, Header: response.Header, RetryAfter: retryAfter(response)}
	e.RequestID = response.Header.Get("X-Request-Id")
	var said Error
	if json.Unmarshal(body, &said) == nil && said.Code != "" && said.Status == response.StatusCode {
		e.Code, e.Message = said.Code, said.Message
	} else { // for example from a proxy
		e.Message = fmt.Sprintf("got %s of type %s, want a response from the pet store: %s",
			response.Status, response.Header.Get("Content-Type"), body[:min(len(body), 1<<10)])
	}
	return e
}

// retryAfter returns the value of the header Retry-After; 0 if it has none.
func retryAfter(r *http.Response) time.Duration {
	value := r.Header.Get("Retry-After")
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	seconds, _ := strconv.ParseInt(value, 10, 32) // the greatest if it is out of range
	return max(0, time.Duration(seconds)*time.Second)
}
