package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// The codes of the errors that the edge itself finds.
const (
	codeInvalidParameter     = "invalid_parameter"
	codeInvalidBody          = "invalid_body"
	codeInvalidRequest       = "invalid_request"
	codeUnauthorized         = "unauthorized"
	codeForbidden            = "forbidden"
	codeNotFound             = "not_found"
	codeMethodNotAllowed     = "method_not_allowed"
	codePayloadTooLarge      = "payload_too_large"
	codeUnsupportedMediaType = "unsupported_media_type"
	codeRateLimited          = "rate_limited"
	codeInternal             = "internal"
	codeUnavailable          = "unavailable"
)

// mediaTypeJSON is the media type of errors and of bodies.
const mediaTypeJSON = "application/json"

// retryAfter is what a client is told to wait, in seconds, before it asks an
// unavailable service again.
const retryAfter = "1"

// problem is an error as the client sees it. cause is for the log.
type problem struct {
	status        int
	code, message string
	header        http.Header
	cause         error
	reason        string // of a 401 or a probe, in one word for the log
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.message + ": " + p.cause.Error()
	}
	return p.message
}

func (p *problem) Unwrap() error { return p.cause }

func invalidParameter(message string) *problem {
	return &problem{status: http.StatusBadRequest, code: codeInvalidParameter, message: message}
}

func invalidRequest(message string) *problem {
	return &problem{status: http.StatusBadRequest, code: codeInvalidRequest, message: message}
}

func invalidBody(message string) *problem {
	return &problem{status: http.StatusBadRequest, code: codeInvalidBody, message: message}
}

func unavailable(cause error) *problem {
	return &problem{
		status:  http.StatusServiceUnavailable,
		code:    codeUnavailable,
		message: "the service is unavailable; try again later",
		header:  http.Header{"Retry-After": {retryAfter}},
		cause:   cause,
	}
}

func internal(cause error) *problem {
	return &problem{
		status:  http.StatusInternalServerError,
		code:    codeInternal,
		message: "the service failed to answer; its log has the details",
		cause:   cause,
	}
}

// Refuse returns an error for a method, or for Authorize, that becomes a response
// with this status (400 to 599), code and message. The code is in lower_snake_case.
// The message is a plain sentence for the developer of the client.
func Refuse(status int, code, message string) error { return refused(status, code, message, nil) }

// Unavailable returns the error of a method that could do nothing now, and for which
// trying again is safe: a 503 with Retry-After. cause is for the log.
func Unavailable(cause error) error { return unavailable(cause) }

// refused returns the response that a service asks for.
func refused(status int, code, message string, cause error) *problem {
	switch {
	case status == http.StatusServiceUnavailable:
		return unavailable(cause)
	case status == http.StatusInternalServerError:
		return internal(cause)
	case status < 400 || status > 599 || code == "" || message == "":
		return internal(errors.Join(fmt.Errorf("the service refused with status %d, code %q, message %q, which is no error of HTTP", status, code, message), cause))
	}
	return &problem{status: status, code: code, message: message, cause: cause}
}

// problemFromEcho maps the errors of Echo itself: its router's 404 and 405. Others
// come from the generated code that cannot bind a value which the document
// allows: that is the service's fault.
func problemFromEcho(e *echo.HTTPError) *problem {
	switch e.Code {
	case http.StatusNotFound:
		return &problem{status: e.Code, code: codeNotFound, message: "there is nothing at this path"}
	case http.StatusMethodNotAllowed:
		return &problem{status: e.Code, code: codeMethodNotAllowed, message: "this path does not support the method; the Allow header lists those it does"}
	default:
		return internal(e)
	}
}

// errorWriter writes every error on its way back to the client.
type errorWriter struct {
	problem   func(err error) (status int, code, message string) // the service's; nil knows none
	challenge []string                                           // of a 401 that brings none
}

// problemFrom turns any error into a response. An error that nobody knows is the
// service's own fault.
func (e *errorWriter) problemFrom(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e.problem != nil {
		if status, code, message := e.problem(err); status != 0 {
			return refused(status, code, message, err)
		}
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return problemFromEcho(e)
	}
	return internal(err)
}

// errorBody is the body of every error.
type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// write writes the Error body of err: the only place that does.
func (e *errorWriter) write(w *echo.Response, err error) {
	if w.Committed {
		return
	}
	p := e.problemFrom(err)
	body, _ := json.Marshal(errorBody{p.code, p.message, p.status}) // strings and an int cannot fail
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	if p.status == http.StatusUnauthorized && p.header == nil {
		h["Www-Authenticate"] = e.challenge // which a 401 must have (RFC 9110, section 15.5.2)
	}
	delete(h, "Preference-Applied") // which says something of successes alone
	body = append(body, '\n')
	h.Set("Content-Type", mediaTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the client is gone: there is nobody to tell
}

// panicError is a panic on the way of a request.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
