package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ResponseError is a response that is not the success its request wanted. Find it
// with errors.AsType or errors.As.
type ResponseError struct {
	Status     int           // the HTTP status
	Code       string        // stable and meant for programs, such as not_found; empty where the response is not of the service
	Message    string        // one sentence for the developer of the client
	RequestID  string        // finds the request in the service's log; may be empty
	RetryAfter time.Duration // how long the service asks to wait; 0 where it does not
}

func (e *ResponseError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Check returns nil where success, the part of a response that holds the wanted
// body, is there, and a *ResponseError else:
//
//	made, err := c.CreatePetWithResponse(ctx, nil, pet)
//	if err != nil {
//		return err // no response came
//	}
//	if err := client.Check(made.JSON201, made.HTTPResponse, made.Body); err != nil {
//		return err // the service refused
//	}
//	fmt.Println(made.JSON201.ID)
func Check[T any](success *T, response *http.Response, body []byte) error {
	if success != nil {
		return nil
	}
	failed := &ResponseError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		failed.RetryAfter = time.Duration(seconds) * time.Second
	}
	var said Error
	if json.Unmarshal(body, &said) == nil && said.Code != "" && said.Status == response.StatusCode {
		failed.Code, failed.Message = said.Code, said.Message
	} else {
		// A proxy, or whatever else stands at that address.
		failed.Message = fmt.Sprintf("got %q of type %q, want a response of the pet store", response.Status, response.Header.Get("Content-Type"))
	}
	return failed
}
