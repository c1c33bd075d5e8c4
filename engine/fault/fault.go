// Package fault defines the errors that a request can end with, from a store to the
// response. The kind of an Error has the code and the status of the response; a service may
// declare other kinds. The client gets the message of New, but never the cause of Wrap.
package fault

import (
	"cmp"
	"errors"
)

// Kind classifies an error, by the code and the HTTP status of the response.
type Kind struct {
	Code   string
	Status int
}

// The kinds that the engines return. An error of another type is Internal; see KindOf.
var (
	Internal    = Kind{"internal", 500}    // the service failed; a write may or may not have happened
	Unavailable = Kind{"unavailable", 503} // nothing was done; a retry is safe

	// The others are the caller's fault. Nothing was done, and only a retry of RequestTimeout
	// or RateLimited may succeed.
	InvalidBody          = Kind{"invalid_body", 400}
	InvalidParameter     = Kind{"invalid_parameter", 400} // of the path or the query
	InvalidRequest       = Kind{"invalid_request", 400}   // anything else about a request
	Unauthorized         = Kind{"unauthorized", 401}
	Forbidden            = Kind{"forbidden", 403}
	NotFound             = Kind{"not_found", 404}
	MethodNotAllowed     = Kind{"method_not_allowed", 405}
	RequestTimeout       = Kind{"request_timeout", 408}
	PayloadTooLarge      = Kind{"payload_too_large", 413}
	UnsupportedMediaType = Kind{"unsupported_media_type", 415}
	IdempotencyKeyReused = Kind{"idempotency_key_reused", 422} // with other values
	RateLimited          = Kind{"rate_limited", 429}
)

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Message string // a sentence for the client's developer; empty means that of the kind
	Reason  string // one word for the log, such as expired; may be empty
	Err     error  // the cause, for the log and the operator; may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return cmp.Or(e.Message, e.Kind.Code)
	case e.Message == "":
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a message for the client.
func New(kind Kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// Wrap returns an error with a cause, which the client does not see.
func Wrap(kind Kind, cause error) *Error { return &Error{Kind: kind, Err: cause} }

// KindOf returns the kind of the first Error in err's tree, or Internal if there is none or
// its kind has no status.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind.Status != 0 {
		return e.Kind
	}
	return Internal
}

// ByCaller reports whether err is the caller's fault: the call was rejected before anything was done.
func ByCaller(err error) bool {
	return KindOf(err).Status < 500
}
