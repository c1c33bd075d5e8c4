package edge

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// The codes of the Error body. The document's description lists them.
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
	codeIdempotencyKeyReused = "idempotency_key_reused"
	codeRateLimited          = "rate_limited"
	codeInternal             = "internal"
	codeUnavailable          = "unavailable"
)

// retryAfter is what a client is told to wait, in seconds, before it asks an
// unavailable service again.
const retryAfter = "1"

// problem is an error as the client sees it. cause is for the log.
type problem struct {
	status        int
	code, message string
	header        http.Header
	cause         error
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

func unauthorized(challenge string) *problem {
	return &problem{
		status:  http.StatusUnauthorized,
		code:    codeUnauthorized,
		message: "a valid API key is required, sent as Authorization: Bearer API_KEY",
		header:  http.Header{"Www-Authenticate": {challenge}},
	}
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

var (
	errTooLarge = &problem{
		status:  http.StatusRequestEntityTooLarge,
		code:    codePayloadTooLarge,
		message: "the body is larger than " + strconv.Itoa(maxBody) + " bytes",
	}
	errMediaType = &problem{
		status:  http.StatusUnsupportedMediaType,
		code:    codeUnsupportedMediaType,
		message: "the Content-Type must be " + mediaTypeJSON,
		header:  http.Header{"Accept": {mediaTypeJSON}},
	}
	errContentEncoding = &problem{
		status:  http.StatusUnsupportedMediaType,
		code:    codeUnsupportedMediaType,
		message: "the body must not be compressed or otherwise encoded",
		header:  http.Header{"Accept-Encoding": {"identity"}},
	}
)

// problemFromKind maps the domain's kinds of errors to responses: the one table of it.
// message is the domain's own, which only Invalid, NotFound and Reused show.
func problemFromKind(kind pets.Kind, message string, cause error) *problem {
	switch kind {
	case pets.Invalid:
		return &problem{status: http.StatusBadRequest, code: codeInvalidBody, message: message, cause: cause}
	case pets.NotFound:
		return &problem{status: http.StatusNotFound, code: codeNotFound, message: message, cause: cause}
	case pets.Reused:
		return &problem{status: http.StatusUnprocessableEntity, code: codeIdempotencyKeyReused, message: message, cause: cause}
	case pets.Unavailable:
		return unavailable(cause)
	default:
		return internal(cause)
	}
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

// problemFrom turns any error into a response. An error without a kind is
// the service's own fault.
func problemFrom(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*pets.Error](err); ok {
		return problemFromKind(e.Kind, e.Message, err)
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return problemFromEcho(e)
	}
	return internal(err)
}

// writeError writes the Error body of err: the only place that does.
func (x *exchange) writeError(err error) {
	w := x.Response()
	if w.Committed {
		return
	}
	p := problemFrom(err)
	body, _ := json.Marshal(api.Error{Code: p.code, Message: p.message, Status: p.status}) // strings and an int cannot fail
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	body = append(body, '\n')
	h.Set("Content-Type", mediaTypeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the client is gone: there is nobody to tell
}
