package server

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
)

// A proxy may take a request for another one where it has both Content-Length and
// Transfer-Encoding, or Transfer-Encoding with HTTP/1.0. Its connection must be
// closed after the response (RFC 9112, section 6.1). net/http removes both fields
// before a handler sees the request, so framing looks for them in the bytes on their
// way to net/http.
//
// It finds every such request, whatever else is sent, by three facts:
//
//   - A read ends where a header may end: at an empty line. So when a handler
//     begins, all of its request's header has been handed out, and of what follows
//     at most one byte, which net/http reads ahead.
//   - A header therefore lies between the bytes handed out when the handler before
//     began and those handed out when its own begins.
//   - A field is a line that begins with its name. Every line that does is found
//     there, in the header or in the body of the request before.
//
// It finds too much only where a line of a body begins with the name, which no
// line of JSON does, and the next request on the connection is chunked or of
// HTTP/1.0. Then a response says Connection: close without need.
type framing struct {
	handed int64 // bytes handed out
	line   int   // length of the current line so far, at most longestField
	name   [longestField]byte

	// Written by Read, read by the handler: bytes handed out, in all and up to
	// the end of each field's name where it came last.
	end, contentLength, transferEncoding atomic.Int64

	headerStart int64 // of the handler: end, when the handler before began
}

const (
	fieldContentLength    = "content-length:"
	fieldTransferEncoding = "transfer-encoding:"
	longestField          = len(fieldTransferEncoding)
)

// pass looks at the bytes of p up to the first empty line, and returns how many
// they are: those that net/http may have now.
func (f *framing) pass(p []byte) int {
	n, empty := 0, false
	for n < len(p) && !empty {
		text, rest := p[n:], bytes.IndexByte(p[n:], '\n')
		if rest < 0 {
			f.add(text, f.handed+int64(n))
			n = len(p)
			break
		}
		f.add(text[:rest], f.handed+int64(n))
		n += rest + 1
		empty = f.line == 0 || f.line == 1 && f.name[0] == '\r'
		f.line = 0
	}
	f.handed += int64(n)
	f.end.Store(f.handed)
	return n
}

// add adds text to the current line, and notes a field once its name is whole.
// at is how many bytes were handed out before text.
func (f *framing) add(text []byte, at int64) {
	before := f.line
	if before < longestField {
		copy(f.name[before:], text)
	}
	f.line = min(before+len(text), longestField) // all longer lines are alike
	switch f.name[0] | 0x20 {
	case 'c':
		f.note(&f.contentLength, fieldContentLength, before, at)
	case 't':
		f.note(&f.transferEncoding, fieldTransferEncoding, before, at)
	}
}

func (f *framing) note(seen *atomic.Int64, field string, before int, at int64) {
	if n := len(field); before < n && f.line >= n && strings.EqualFold(string(f.name[:n]), field) {
		seen.Store(at + int64(n-before))
	}
}

// ambiguous reports whether the request may be taken for another. It is called
// once for every request of the connection, as its handler begins.
func (f *framing) ambiguous(r *http.Request) bool {
	start := f.headerStart
	f.headerStart = f.end.Load()
	switch {
	case len(r.TransferEncoding) > 0:
		return f.contentLength.Load() > start
	case !r.ProtoAtLeast(1, 1):
		return f.transferEncoding.Load() > start
	}
	return false
}

// ambiguous is framing's where there is one. Below TLS, where there is none, it is
// true of every request that may be ambiguous.
func (c *conn) ambiguous(r *http.Request) bool {
	switch {
	case c.framing != nil:
		return c.framing.ambiguous(r)
	case r.ProtoMajor > 1:
		return false
	}
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}
