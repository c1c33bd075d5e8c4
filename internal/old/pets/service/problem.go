package service

import (
	"errors"

	"example.com/petstore/internal/old/pets"
)

// Problem is the table from the domain's kinds of errors to responses. The message is
// the domain's own, or "" where the edge has the message of the status. The status is 0
// for an error that is not the domain's.
func Problem(err error) (status int, code, message string) {
	e, ok := errors.AsType[*pets.Error](err)
	if !ok {
		return 0, "", ""
	}
	switch e.Kind {
	case pets.Invalid:
		return 400, "invalid_body", e.Message
	case pets.NotFound:
		return 404, "not_found", e.Message
	case pets.Reused:
		return 422, "idempotency_key_reused", e.Message
	case pets.Unavailable:
		return 503, "", ""
	default:
		return 500, "", ""
	}
}
