// Package fault defines the errors that a request can end with, from a store to the
// response: one type, whose kind says what its caller can do. It imports only the
// standard library.
package fault

import "errors"

// Kind classifies an error. Its text is the code of the Error body that a client gets.
type Kind string

// The kinds. An error of another type is Internal; see KindOf.
const (
	Internal    Kind = "internal"    // the service failed; a write may or may not have happened
	Unavailable Kind = "unavailable" // nothing was done; it is safe to try again later

	// The others are the caller's fault. Nothing was done, and a retry fails in the same way,
	// but for RequestTimeout and RateLimited.
	InvalidBody          Kind = "invalid_body"
	InvalidParameter     Kind = "invalid_parameter" // of the path or the query
	InvalidRequest       Kind = "invalid_request"   // anything else about a request
	Unauthorized         Kind = "unauthorized"
	Forbidden            Kind = "forbidden"
	NotFound             Kind = "not_found"
	MethodNotAllowed     Kind = "method_not_allowed"
	RequestTimeout       Kind = "request_timeout"
	PayloadTooLarge      Kind = "payload_too_large"
	UnsupportedMediaType Kind = "unsupported_media_type"
	IdempotencyKeyReused Kind = "idempotency_key_reused" // with other values
	RateLimited          Kind = "rate_limited"
)

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Message string // a sentence for the client's developer; empty for one that suits the kind
	Reason  string // one word for the log, such as expired; may be empty
	Err     error  // the cause, for the log and the operator; may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil && e.Message == "":
		return string(e.Kind)
	case e.Err == nil:
		return e.Message
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

// KindOf returns the kind of the first Error in err's tree, or Internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// ByCaller reports whether err is the caller's fault: it was refused before anything
// was done, and the service is well.
func ByCaller(err error) bool {
	kind := KindOf(err)
	return kind != Internal && kind != Unavailable
}
