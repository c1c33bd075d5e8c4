package edge

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
)

// messages are the default messages of the kinds.
var messages = map[fault.Kind]string{
	fault.Unauthorized:   "a valid API key is required, sent as Authorization: Bearer API_KEY",
	fault.Forbidden:      "this API key may only read; the operation needs one that may write",
	fault.RequestTimeout: "the body did not arrive in time; try again",
	fault.Internal:       "the service failed to answer; its log has the details",
	fault.Unavailable:    "the service is unavailable; try again later",
}

// faultOf returns the *fault.Error in err's tree. It translates an error of Echo, without its
// text; any other error is Internal.
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
		return fault.New(fault.InvalidParameter, "a parameter has a value that cannot be read")
	case http.StatusNotFound:
		message := "there is nothing at this path; the operations are under " + cmp.Or(h.document.Base, "/")
		if h.options.Docs.Path != "" {
			message += ", and " + h.options.Docs.Path + " describes them"
		}
		return fault.New(fault.NotFound, message)
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed, "this path does not support the method; the Allow header lists those it does")
	}
	return fault.Wrap(fault.Internal, err)
}

// writeError is Echo's HTTPErrorHandler: it writes the response to every error.
func (h *Handler) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	e := h.faultOf(err)
	kind := fault.KindOf(e)
	header := c.Response().Header()
	if kind.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	message := cmp.Or(e.Message, messages[kind], http.StatusText(kind.Status))
	body, _ := json.Marshal(h.service.ErrorBody(kind, message)) // a struct of strings and numbers
	// With its length, the response is complete before ServeHTTP returns.
	header.Set("Content-Length", strconv.Itoa(len(body)+len("\n")))
	_ = c.JSONBlob(kind.Status, append(body, '\n')) // the client may be gone
}
