package edge

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// MaxBody is the greatest size of a body in bytes.
const MaxBody = 64 << 10

// The errors of a body that is not read.
var (
	errTooLarge = &problem{
		status:  http.StatusRequestEntityTooLarge,
		code:    codePayloadTooLarge,
		message: "the body is larger than " + strconv.Itoa(MaxBody) + " bytes",
	}
	errMediaType = &problem{
		status:  http.StatusUnsupportedMediaType,
		code:    codeUnsupportedMediaType,
		message: "the Content-Type must be " + mediaTypeJSON,
		header:  http.Header{"Accept": {mediaTypeJSON}},
	}
	errPatchMediaType = &problem{
		status:  http.StatusUnsupportedMediaType,
		code:    codeUnsupportedMediaType,
		message: errMediaType.message,
		header:  http.Header{"Accept": {mediaTypeJSON}, "Accept-Patch": {mediaTypeJSON}}, // RFC 5789, section 2.2
	}
	errContentEncoding = &problem{
		status:  http.StatusUnsupportedMediaType,
		code:    codeUnsupportedMediaType,
		message: "the body must not be compressed or otherwise encoded",
		header:  http.Header{"Accept-Encoding": {"identity"}},
	}
)

// bodyBuffer is a body in memory, until it is released.
type bodyBuffer struct {
	bytes.Buffer
	limited io.LimitedReader
}

var bodyBuffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

func (b *bodyBuffer) release() {
	b.limited.R = nil
	b.Reset()
	bodyBuffers.Put(b)
}

// readBody reads the body into memory, after all checks that do not need it.
func readBody(r *http.Request) (*bodyBuffer, error) {
	if err := checkMediaType(r.Header); err != nil {
		if err == errMediaType && r.Method == http.MethodPatch {
			return nil, errPatchMediaType
		}
		return nil, err
	}
	if r.ContentLength > MaxBody {
		return nil, errTooLarge
	}
	b := bodyBuffers.Get().(*bodyBuffer)
	b.limited = io.LimitedReader{R: r.Body, N: MaxBody + 1}
	if _, err := b.ReadFrom(&b.limited); err != nil {
		b.release()
		return nil, &problem{status: http.StatusBadRequest, code: codeInvalidBody, message: "the body did not arrive whole", cause: err}
	}
	if b.Len() > MaxBody {
		b.release()
		return nil, errTooLarge
	}
	_ = r.Body.Close() // it has ended: net/http then does not look for the rest
	return b, nil
}

// checkMediaType accepts one Content-Type of JSON, whatever its parameters,
// and no content coding (RFC 9110, sections 8.3 and 8.4).
func checkMediaType(h http.Header) *problem {
	types := h["Content-Type"]
	if len(types) != 1 {
		return errMediaType
	}
	if types[0] != mediaTypeJSON {
		if mediaType, _, err := mime.ParseMediaType(types[0]); err != nil || mediaType != mediaTypeJSON {
			return errMediaType
		}
	}
	for _, coding := range h["Content-Encoding"] {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return errContentEncoding
		}
	}
	return nil
}
