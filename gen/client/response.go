package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ResponseError is a response other than the expected success.
type ResponseError struct {
	Status     int           // the HTTP status
	Code       string        // stable and meant for programs, such as not_found; empty if the response is not from the pet store
	Message    string        // a sentence for the developer of the client
	RequestID  string        // identifies the request in the service's log; may be empty
	RetryAfter time.Duration // how long to wait before trying again; 0 if the response does not say
}

func (e *ResponseError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Check returns a *ResponseError unless success, the decoded body of the
// expected response, is set:
//
//	created, err := c.CreatePetWithResponse(ctx, nil, pet)
//	if err != nil {
//		return err // there was no response
//	}
//	if err := client.Check(created.JSON201, created.HTTPResponse, created.Body); err != nil {
//		return err // the service refused the request
//	}
//	fmt.Println(created.JSON201.ID)
func Check[T any](success *T, response *http.Response, body []byte) error {
	if success != nil {
		return nil
	}
	e := &ResponseError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id"), RetryAfter: retryAfter(response)}
	var said Error
	if json.Unmarshal(body, &said) == nil && said.Code != "" && said.Status == response.StatusCode {
		e.Code, e.Message = said.Code, said.Message
	} else { // for example from a proxy
		e.Message = fmt.Sprintf("got %q of type %q, want a response from the pet store", response.Status, response.Header.Get("Content-Type"))
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
