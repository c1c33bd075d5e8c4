package schema

import (
	"encoding/base64"
	"errors"
	"math"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// format is what a format of strings demands. A value that holds is one the
// generated code can bind, and binds as it was sent.
type format struct {
	holds func(string) bool
	says  string
}

func anyText(string) bool { return true }

var (
	dateTimePattern = regexp.MustCompile(`^.{10}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
	uuidPattern     = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	hostPattern     = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
)

// formats of strings. Another one is refused: the service would not check it.
var formats = map[string]*format{
	"byte": {func(s string) bool {
		_, err := base64.StdEncoding.Strict().DecodeString(s)
		return err == nil && !strings.ContainsAny(s, "\r\n") // which the decoder skips
	}, "must be base64 as RFC 4648, section 4, has it"},
	"date": {func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	}, "must be a date as RFC 3339 has it"},
	"date-time": {func(s string) bool {
		_, err := time.Parse(time.RFC3339, s) // which takes 1:00 for 01:00, and 0,5 for 0.5
		return err == nil && dateTimePattern.MatchString(s)
	}, "must be a date-time as RFC 3339 has it"},
	"email": {func(s string) bool {
		address, err := mail.ParseAddress(s)
		return err == nil && address.Address == s
	}, "must be an email address as RFC 5322 has it"},
	"hostname": {func(s string) bool {
		return len(s) <= 253 && hostPattern.MatchString(s)
	}, "must be a host name as RFC 1123 has it"},
	"ipv4": {func(s string) bool {
		address, err := netip.ParseAddr(s)
		return err == nil && address.Is4()
	}, "must be an IPv4 address"},
	"ipv6": {func(s string) bool {
		address, err := netip.ParseAddr(s)
		return err == nil && address.Is6() && address.Zone() == ""
	}, "must be an IPv6 address as RFC 4291 has it"},
	"password": {anyText, ""},
	"uri": {func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	}, "must be a URI as RFC 3986 has it"},
	"uri-reference": {func(s string) bool {
		_, err := url.Parse(s)
		return err == nil
	}, "must be a URI reference as RFC 3986 has it"},
	"uuid": {uuidPattern.MatchString, "must be a UUID as RFC 9562 has it"},
}

// numberFormats are the formats of each numeric type.
var numberFormats = map[string][]string{
	"integer": {"int32", "int64"},
	"number":  {"float", "double"},
}

// isFloat reports whether 32 bits can hold f.
func isFloat(f float64) bool { return !math.IsInf(float64(float32(f)), 0) }

// stringFormats are formats for kin-openapi, whose own are less strict.
func stringFormats() map[string]openapi3.StringFormatValidator {
	validators := map[string]openapi3.StringFormatValidator{}
	for name, f := range formats {
		validators[name] = validator(f.holds)
	}
	return validators
}

var errFormat = errors.New("") // formatSays has the sentence

func validator[T any](holds func(T) bool) openapi3.FormatValidator[T] {
	return openapi3.NewCallbackValidator(func(value T) error {
		if !holds(value) {
			return errFormat
		}
		return nil
	})
}
