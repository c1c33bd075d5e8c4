package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxResponse is how many bytes of a response are read: a page of a hundred
// animals, each of a body's 64 KiB, and the escapes JSON may need for them.
const maxResponse = 16 << 20

// response is what came back for a request.
type response struct {
	request request
	status  int
	header  http.Header
	body    []byte
	err     error // no whole response came

	read *problem // see problem
}

// mismatch says that the response is not what it should be.
func (a *response) mismatch(got, want string) error {
	if a.err != nil {
		got = "no response: " + a.err.Error()
	}
	return &mismatch{request: a.request, got: got, want: want}
}

// is returns nil where the response has that status.
func (a *response) is(status int) error {
	if a.err == nil && a.status == status {
		return nil
	}
	return a.mismatch(a.text(), strconv.Itoa(status))
}

// text is what there is to show of a response.
func (a *response) text() string {
	text := strconv.Itoa(a.status)
	if location := a.header.Get("Location"); a.status/100 == 3 && location != "" {
		text += " to " + location + ", which was not followed"
	}
	if len(a.body) > 0 {
		text += " " + string(a.body[:min(len(a.body), 4<<10)])
	}
	return text
}

// sole returns the one value of a header, or what there is instead.
func (a *response) sole(name string) (value string, ok bool) {
	values := a.header.Values(name)
	switch len(values) {
	case 0:
		return "no " + name, false
	case 1:
		return values[0], true
	}
	return fmt.Sprintf("%d of %s: %q", len(values), name, values), false
}

// line is a header of the response as it is shown.
func (a *response) line(name string) string {
	value, ok := a.sole(name)
	if !ok {
		return value
	}
	return name + ": " + value
}

// isJSON reports whether the response says that it is JSON.
func (a *response) isJSON() bool {
	value, ok := a.sole("Content-Type")
	mediaType, _, err := mime.ParseMediaType(value)
	return ok && err == nil && mediaType == "application/json"
}

// object reads the body as a JSON object. Names are compared exactly.
func (a *response) object() (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := decode(a.body, &fields); err != nil || fields == nil {
		return nil, a.mismatch(a.text(), "a JSON object")
	}
	return fields, nil
}

// decode reads one JSON value and nothing behind it.
func decode(data []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(value); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// problem is an Error body, as far as it is one.
type problem struct {
	code, message string
	status        json.Number
	fault         string // what is wrong with its form; "" where nothing is
}

// problem reads the body as an Error, once for all the rules that judge it.
func (a *response) problem() problem {
	if a.read == nil {
		p := a.readProblem()
		a.read = &p
	}
	return *a.read
}

func (a *response) readProblem() (p problem) {
	fields, err := a.object()
	if err != nil {
		return problem{fault: a.text()}
	}
	read := func(name string, value any) {
		raw, ok := fields[name]
		switch {
		case p.fault != "":
		case !ok:
			p.fault = "no " + name + " in " + a.text()
		case json.Unmarshal(raw, value) != nil, string(raw) == "null":
			p.fault = name + " " + string(raw)
		}
	}
	var status json.RawMessage
	read("code", &p.code)
	read("message", &p.message)
	read("status", &status)
	p.status = json.Number(strings.TrimSpace(string(status)))
	if p.fault == "" && !isInteger(string(p.status)) {
		p.fault = "status " + string(status)
	}
	return p
}
