package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Service is all that the edge must know to serve a document. Name, Version,
// Document, Operations, Ready and, where an operation needs a key, Authenticate are
// required. The edge calls its functions from many goroutines at once.
type Service struct {
	// Name is one lower-case word of letters and digits. It is the realm of
	// challenges (RFC 9110, section 11.5), and the names of metrics begin with it.
	Name    string
	Version string // of the program

	Document   []byte     // openapi.yaml, byte for byte; callers must not change it
	Operations Operations // see Generated

	// Authenticate returns who sends requests with this bearer token, which has the
	// form of one (RFC 6750, section 2.1). Its error is an *InvalidKey where the
	// token is not valid. Any other error means that it could not be told, and
	// becomes a 503.
	Authenticate func(ctx context.Context, token string) (Identity, error)

	// Authorize returns an error, which Refuse makes, where the caller must not call
	// the operation. Without it, a valid key may call all of them.
	Authorize func(caller Identity, o Operation) error

	// Problem returns how an error of a method is told to the client. A status of 0
	// means that it does not know the error, which becomes a 500 without detail. The
	// sentences of 500 and 503 are the edge's own. Errors of Refuse need no Problem.
	Problem func(err error) (status int, code, message string)

	// Ready returns why the service cannot serve now, or nil. Its context ends
	// after two seconds. Of a *NotReady, whoever asks /readyz is told the reason.
	Ready func(ctx context.Context) error

	// Failed delivers an error once the service can no longer vouch for what it
	// acknowledges. Run then ends. It may be nil.
	Failed <-chan error

	// Rows returns how many rows a request of the generated code asks for. It is
	// required with Limits.Rows.
	Rows func(request any) int64

	Limits Limits

	// KeyPattern matches all that looks like a key. The log of Run has REDACTED in
	// its place, behind the pattern's literal prefix.
	KeyPattern *regexp.Regexp

	// Collectors are the service's own metrics, without Name before theirs.
	Collectors []prometheus.Collector

	QuickStart string // the beginning of the page at /docs, in Markdown
	Samples    []byte // YAML: by operationId, what x-codeSamples has on that page

	// The rest says how this process serves. Run sets it from flags; it may all be
	// zero.

	Logger         *slog.Logger          // one line a request; nil logs nothing
	PublicURL      string                // where clients reach the base path, if another address leads here
	TrustedProxies []netip.Prefix        // whose X-Forwarded-For is believed
	LocalOrigins   bool                  // scripts of pages at localhost may read responses (CORS), and no other host is served
	Metrics        prometheus.Registerer // where the metrics go; nil keeps none
}

// Limits bound the work that a Service does at one time. Where the document has
// operations with security: [], a quarter of all room is for these operations alone,
// and the rest for callers with a key. The rate of such an operation is that of a
// client's address, or of its network of 64 bits in IPv6.
type Limits struct {
	Calls int     // calls of methods under way; as many again, twice, may wait; 0: 256
	Rate  float64 // requests a second of one key; 0: any number
	Rows  int64   // rows that the calls under way ask for; 0: any number

	// ResponseBytes bounds the bytes of large responses that are being written, of
	// which one key may have a quarter. 0: 64 MiB, or a quarter of the memory that Go
	// may use where that is less, but never less than four of LargestResponse.
	ResponseBytes   int64
	LargestResponse int64 // bytes; 0: unknown
}

// Identity is a caller whose key is valid.
type Identity struct {
	ID     string // of the key; it stands in the log, so it must not be secret
	Rights any    // for Authorize
}

// Caller returns the caller of the operation whose method has this context: the zero
// Identity where the operation is public.
func Caller(ctx context.Context) Identity {
	if caller, ok := ctx.Value(callerKey{}).(*Identity); ok {
		return *caller
	}
	return Identity{}
}

type callerKey struct{}

// InvalidKey is the error of Authenticate for a token that is not valid.
type InvalidKey struct {
	KeyID  string // of the key, where it was recognised; for the log
	Reason string // for the log, such as unknown, expired or revoked

	// Tell is what the client is told of it (RFC 6750, section 3, error_description),
	// in ASCII without quotes: "the API key has expired". Where it is empty, the
	// response is that of any invalid key.
	Tell string
}

func (e *InvalidKey) Error() string { return "the API key is not valid: " + e.Reason }

// NotReady is an error of Ready with a reason for everybody: one word, such as store.
type NotReady struct {
	Reason string
	Err    error // for the log
}

func (e *NotReady) Error() string { return e.Err.Error() }

func (e *NotReady) Unwrap() error { return e.Err }

// Operation is an operation of the document.
type Operation struct {
	ID         string // its operationId
	Method     string // GET also for HEAD
	Path       string // as the document has it
	Public     bool   // it needs no key, since the document says security: []
	Deprecated bool
}

// IsSafe reports whether the operation changes nothing (RFC 9110, section 9.2.1).
func (o Operation) IsSafe() bool { return o.Method == http.MethodGet }

// serviceName is what can begin the name of a metric and of a variable.
var serviceName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// check returns an error for each field that is missing or makes no sense. The
// document is looked at later.
func (s *Service) check() error {
	var errs []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Name", s.Name == ""},
		{"Version", s.Version == ""},
		{"Document", len(s.Document) == 0},
		{"Operations", s.Operations.register == nil},
		{"Ready", s.Ready == nil},
		{"Rows, which Limits.Rows needs,", s.Rows == nil && s.Limits.Rows > 0},
	} {
		if field.missing {
			errs = append(errs, fmt.Errorf("edge.Service: %s is missing", field.name))
		}
	}
	if s.Name != "" && !serviceName.MatchString(s.Name) {
		errs = append(errs, fmt.Errorf("edge.Service: Name %q is not one word of a-z 0-9 that begins with a letter", s.Name))
	}
	if slices.Contains(s.Collectors, nil) {
		errs = append(errs, errors.New("edge.Service: one of Collectors is nil"))
	}
	if l := s.Limits; l.Calls < 0 || !(l.Rate >= 0) || l.Rows < 0 || l.ResponseBytes < 0 || l.LargestResponse < 0 {
		errs = append(errs, fmt.Errorf("edge.Service: Limits %+v: none may be negative", l))
	}
	return errors.Join(errs...)
}
