package edge

import (
	"bytes"
	"net/url"
)

// validate holds the request against the document: its query string, its
// parameters, its body. It leaves the request as it came: defaults are the
// service's.
func (op *operation) validate(x *exchange) (err error) {
	if x.query, err = parseQuery(x.Request().URL.RawQuery); err != nil {
		return err
	}
	if x.strict = prefersStrict(x.Request().Header); x.strict {
		if err := checkQuery(x.query, op.queryNames()); err != nil {
			return err
		}
		x.Response().Header()["Preference-Applied"] = strictApplied
	}
	for _, p := range op.parameters {
		if err := p.read(x, x.query); err != nil {
			return err
		}
	}
	if op.body != nil {
		x.body, err = op.validateBody(x)
	}
	return err
}

// validateBody reads the body and returns its value.
func (op *operation) validateBody(x *exchange) (any, error) {
	data, err := readBody(x.Request())
	if err != nil {
		return nil, err
	}
	defer data.release()
	x.bodyRead = true
	if x.closesUnread {
		delete(x.Response().Header(), "Connection")
	}
	if len(bytes.TrimSpace(data.Bytes())) == 0 {
		return nil, invalidBody("a body is required")
	}
	var also func(any) string
	if x.strict {
		also = func(value any) string { return unknownProperty(op.body, value) }
	}
	value, fault := readValue(op.body, data.Bytes(), "the body", also)
	if fault != "" {
		return nil, invalidBody(fault)
	}
	return value, nil
}

var noQuery = url.Values{}

// parseQuery reads the query string, in which nothing may be lost: net/url
// drops what it cannot read.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return noQuery, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalidParameter("the query string is malformed: % must be followed by two hexadecimal digits, and ; be sent as %3B")
	}
	return query, nil
}
