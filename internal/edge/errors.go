package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
)

// responses has the status of each kind of error, and the message for errors that have
// none.
var responses = map[fault.Kind]struct {
	status  int
	message string
}{
	fault.InvalidParameter:     {http.StatusBadRequest, "a parameter has a value that cannot be read"},
	fault.InvalidBody:          {http.StatusBadRequest, "the body cannot be read"},
	fault.InvalidRequest:       {http.StatusBadRequest, "the request cannot be read"},
	fault.Unauthorized:         {http.StatusUnauthorized, "a valid API key is required, sent as Authorization: Bearer API_KEY"},
	fault.Forbidden:            {http.StatusForbidden, "this API key may only read; the operation needs one that may write"},
	fault.NotFound:             {http.StatusNotFound, "there is no such resource"},
	fault.MethodNotAllowed:     {http.StatusMethodNotAllowed, "this path does not support the method; the Allow header lists those it does"},
	fault.RequestTimeout:       {http.StatusRequestTimeout, "the body did not arrive in time; try again"},
	fault.PayloadTooLarge:      {http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody)},
	fault.UnsupportedMediaType: {http.StatusUnsupportedMediaType, "the body has another media type"},
	fault.IdempotencyKeyReused: {http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request"},
	fault.RateLimited:          {http.StatusTooManyRequests, "too many requests; try again later"},
	fault.Internal:             {http.StatusInternalServerError, "the service failed to answer; its log has the details"},
	fault.Unavailable:          {http.StatusServiceUnavailable, "the service is unavailable; try again later"},
}

// faultOf returns the *fault.Error in err's tree. If there is none, it returns one for an
// error of Echo, whose text clients do not see, and Internal for any other.
func (h *Handler) faultOf(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*echo.HTTPError](err)
	if !ok {
		return fault.Wrap(fault.Internal, err)
	}
	switch e.Code {
	case http.StatusBadRequest: // the generated code cannot bind a parameter that the schema accepts
		return fault.New(fault.InvalidParameter, "")
	case http.StatusNotFound:
		message := "there is nothing at this path; the operations are under " + h.document.Base
		if h.options.Docs.Path != "" {
			message += ", and " + h.options.Docs.Path + " describes them"
		}
		return fault.New(fault.NotFound, message)
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed, "")
	}
	return fault.Wrap(fault.Internal, err)
}

// writeError is Echo's HTTPErrorHandler: it writes the response to every error.
func (h *Handler) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	e := h.faultOf(err)
	response, known := responses[e.Kind]
	if !known {
		response = responses[fault.Internal]
	}
	if e.Message != "" {
		response.message = e.Message
	}
	header := c.Response().Header()
	if e.Kind == fault.Unavailable {
		header.Set("Retry-After", "1")
	}
	value := h.service.ErrorBody(e.Kind, response.message, response.status)
	body, _ := json.Marshal(value) // a struct of strings and numbers
	// With its length, the response is complete before ServeHTTP returns.
	header.Set("Content-Length", strconv.Itoa(len(body)+len("\n")))
	_ = c.JSONBlob(response.status, append(body, '\n')) // the client may be gone
}
