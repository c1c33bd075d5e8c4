package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// AnswerError is an answer that is not the success its request wanted. Find it
// with errors.AsType or errors.As.
type AnswerError struct {
	Status     int           // the HTTP status
	Code       string        // stable and meant for programs, such as not_found; empty where it was not the service that answered
	Message    string        // one sentence for the developer of the client
	RequestID  string        // finds the request in the service's log; may be empty
	RetryAfter time.Duration // how long the service asks to wait; 0 where it does not
}

func (e *AnswerError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Check returns nil where success, the part of an answer that holds the wanted
// body, is there, and an *AnswerError else:
//
//	made, err := c.CreatePetWithResponse(ctx, nil, pet)
//	if err != nil {
//		return err // no answer came
//	}
//	if err := client.Check(made.JSON201, made.HTTPResponse, made.Body); err != nil {
//		return err // the service refused
//	}
//	fmt.Println(made.JSON201.ID)
func Check[T any](success *T, answer *http.Response, body []byte) error {
	if success != nil {
		return nil
	}
	failed := &AnswerError{Status: answer.StatusCode, RequestID: answer.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		failed.RetryAfter = time.Duration(seconds) * time.Second
	}
	var said Error
	if json.Unmarshal(body, &said) == nil && said.Code != "" && said.Status == answer.StatusCode {
		failed.Code, failed.Message = said.Code, said.Message
	} else {
		// A proxy, or whatever else stands at that address.
		failed.Message = fmt.Sprintf("got %q of type %q, want an answer of the pet store", answer.Status, answer.Header.Get("Content-Type"))
	}
	return failed
}
