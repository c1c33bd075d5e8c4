package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Problem is an error as the client sees it.
type Problem struct {
	Status  int
	Code    string      // stable
	Message string      // for the client's developer
	Header  http.Header // added to the response; may be nil
	Cause   error       // for the log only; may be nil
	Reason  string      // one word for the log, such as expired; may be empty
}

func (p *Problem) Error() string { return p.Message }

func (p *Problem) Unwrap() error { return p.Cause }

func badRequest(code, message string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: code, Message: message}
}

func payloadTooLarge() *Problem {
	message := fmt.Sprintf("the body is larger than %d bytes", MaxBody)
	return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "payload_too_large", Message: message}
}

func unsupportedMediaType(message, name, value string) *Problem {
	return &Problem{
		Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
		Message: message, Header: http.Header{name: {value}},
	}
}

// Unavailable returns the 503 of a service that did nothing and may be asked again.
func Unavailable(cause error) *Problem {
	return &Problem{
		Status: http.StatusServiceUnavailable, Code: "unavailable", Header: http.Header{"Retry-After": {"1"}},
		Message: "the service is unavailable; try again later", Cause: cause,
	}
}

func internal(cause error) *Problem {
	const message = "the service failed to answer; its log has the details"
	return &Problem{Status: http.StatusInternalServerError, Code: "internal", Message: message, Cause: cause}
}

// problemOf returns the response to err. An unknown error is a 500.
func (h *Handler) problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if p := h.service.Problem(err); p != nil {
		return p
	}
	switch e, _ := errors.AsType[*echo.HTTPError](err); {
	case e == nil:
	case e.Code == http.StatusBadRequest: // the generated code cannot bind a parameter that the schema accepts
		return badRequest("invalid_parameter", "a parameter has a value that cannot be read")
	case e.Code == http.StatusNotFound:
		message := "there is nothing at this path; the operations are under " + h.document.Base + ", and /docs describes them"
		return &Problem{Status: e.Code, Code: "not_found", Message: message}
	case e.Code == http.StatusMethodNotAllowed:
		const message = "this path does not support the method; the Allow header lists those it does"
		return &Problem{Status: e.Code, Code: "method_not_allowed", Message: message}
	}
	return internal(err)
}

// writeError is Echo's HTTPErrorHandler: it writes the response to every error.
func (h *Handler) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := h.problemOf(err)
	header := c.Response().Header()
	maps.Copy(header, p.Header)
	if c.Request().ContentLength != 0 && c.Get(requestBody) == nil {
		header.Set("Connection", "close") // else net/http would wait for the body before it sends the response
	}
	body, _ := json.Marshal(h.service.ErrorBody(p))                 // a struct of strings and numbers
	header.Set("Content-Length", strconv.Itoa(len(body)+len("\n"))) // so that it is complete before ServeHTTP returns
	_ = c.JSONBlob(p.Status, append(body, '\n'))                    // the client may be gone
}
