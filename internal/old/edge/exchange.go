package edge

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/runtime"
)

// exchange is one request and its response on their way through the edge. It
// stands in for Echo's context, so that the generated code binds what was
// validated: the query string and the body, neither read a second time by
// other rules. All that a request needs is in it, in one allocation.
type exchange struct {
	echo.Context
	operation *operation // nil where the path is no operation's
	start     time.Time
	ctx       exchangeContext
	id        [1]string // the request id, as the value of a header
	query     url.Values
	body      any  // as decoded and validated
	strict    bool // the client prefers to hear of names that are not known

	bodyRead     bool // whole, off the connection
	closesUnread bool // the connection, unless the body is read

	claim claim // the room that it has
	held  *heldBack
}

// newExchange begins an exchange, with the headers of its response.
func newExchange(c echo.Context, base string) *exchange {
	x := &exchange{Context: c, start: time.Now(), id: [1]string{requestID(c.Request())}}
	x.setCommonHeaders(base)
	return x
}

// QueryParams replaces Echo's own reading, which drops parameters that it cannot read.
func (x *exchange) QueryParams() url.Values { return x.query }

// QueryParam replaces Echo's, for the same reason.
func (x *exchange) QueryParam(name string) string { return x.query.Get(name) }

// Bind replaces Echo's, which would read the body by encoding/json.
func (x *exchange) Bind(target any) error { return runtime.BindJSONValue(x.body, target) }

// lingerTime is how long the rest of an unread body may still arrive before the
// connection is closed. A client that sends all of it sees the response and not a
// reset. A client that stalls does not hold the connection.
const lingerTime = time.Second

// abandonBody ends the wait for a body that was not read.
func (x *exchange) abandonBody() {
	if x.Request().ContentLength != 0 && !x.bodyRead {
		_ = http.NewResponseController(x.Response().Writer).SetReadDeadline(time.Now().Add(lingerTime)) // the writers of tests have none
	}
}

// The headers of every response, shared so that setting them costs nothing.
var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
	closing = []string{"close"}
)

func (x *exchange) setCommonHeaders(base string) {
	r, h := x.Request(), x.Response().Header()
	h["X-Request-Id"] = x.id[:]
	h["X-Content-Type-Options"] = nosniff
	if path := r.URL.Path; len(path) >= len(base) && path[:len(base)] == base && (len(path) == len(base) || path[len(base)] == '/') {
		h["Cache-Control"] = noStore
	}
	// An unread body would have to arrive whole before the connection could
	// serve another request, so the connection is closed instead. validateBody
	// takes this back once the body is read. An earlier Connection: close of the
	// server stays. HTTP/2 ends the stream alone; this header would end its
	// connection.
	if r.ContentLength != 0 && r.ProtoMajor == 1 && h["Connection"] == nil {
		h["Connection"], x.closesUnread = closing, true
	}
}

// decodePath decodes the parameters of the path, which Echo leaves as they were
// sent where the path is encoded. ServeHTTP has made the URL this request's own.
func (x *exchange) decodePath() {
	u := x.Request().URL
	if u.RawPath == "" {
		return
	}
	values := x.ParamValues()
	for i, value := range values {
		if text, err := url.PathUnescape(value); err == nil { // as net/http has seen to
			values[i] = text
		}
	}
	u.RawPath = "" // so that the generated code does not decode them again
}

// requestID returns the client's X-Request-Id if it is one sane value, and a
// new one else.
func requestID(r *http.Request) string {
	if ids := r.Header["X-Request-Id"]; len(ids) == 1 && isRequestID(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}

func isRequestID(s string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
