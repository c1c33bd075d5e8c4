// Code generated from openapi.yaml. DO NOT EDIT.

package client

const version = "1.0.0"

// The codes of the document, for ResponseError.Code. A later version of the service may have more.
const (
	CodeInvalidParameter     = "invalid_parameter"
	CodeInvalidBody          = "invalid_body"
	CodeInvalidRequest       = "invalid_request"
	CodeUnauthorized         = "unauthorized"
	CodeForbidden            = "forbidden"
	CodeNotFound             = "not_found"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeRequestTimeout       = "request_timeout"
	CodePayloadTooLarge      = "payload_too_large"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeIdempotencyKeyReused = "idempotency_key_reused"
	CodeRateLimited          = "rate_limited"
	CodeInternal             = "internal"
	CodeUnavailable          = "unavailable"
)
