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

// response is the response to a request, or the error in its place.
type response struct {
	request request
	status  int
	header  http.Header
	body    []byte
	err     error // no whole response came

	read *problem // see problem
}

// mismatch returns the error of a response that breaks a rule.
func (resp *response) mismatch(got, want string) error {
	if resp.err != nil {
		got = "no response: " + resp.err.Error()
	}
	return &mismatch{request: resp.request, got: got, want: want}
}

// is returns nil where the response has that status.
func (resp *response) is(status int) error {
	if resp.err == nil && resp.status == status {
		return nil
	}
	return resp.mismatch(resp.text(), strconv.Itoa(status))
}

// text returns the response as it is shown.
func (resp *response) text() string {
	text := strconv.Itoa(resp.status)
	if location := resp.header.Get("Location"); resp.status/100 == 3 && location != "" {
		text += " to " + location + ", which was not followed"
	}
	if len(resp.body) > 0 {
		text += " " + string(resp.body[:min(len(resp.body), 4<<10)])
	}
	return text
}

// sole returns the one value of a header. Where there is none, or more than one, it
// returns a description of that.
func (resp *response) sole(name string) (value string, ok bool) {
	values := resp.header.Values(name)
	switch len(values) {
	case 0:
		return "no " + name, false
	case 1:
		return values[0], true
	}
	return fmt.Sprintf("%d of %s: %q", len(values), name, values), false
}

// line is a header of the response as it is shown.
func (resp *response) line(name string) string {
	value, ok := resp.sole(name)
	if !ok {
		return value
	}
	return name + ": " + value
}

// isJSON reports whether the response says that it is JSON.
func (resp *response) isJSON() bool {
	value, ok := resp.sole("Content-Type")
	mediaType, _, err := mime.ParseMediaType(value)
	return ok && err == nil && mediaType == "application/json"
}

// object reads the body as a JSON object. Names are compared exactly.
func (resp *response) object() (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := decode(resp.body, &fields); err != nil || fields == nil {
		return nil, resp.mismatch(resp.text(), "a JSON object")
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

// problem is an Error body, as far as it can be read.
type problem struct {
	code, message string
	status        json.Number
	fault         string // the fault of its form; "" where there is none
}

// problem reads the body as an Error, once for all the rules that judge it.
func (resp *response) problem() problem {
	if resp.read == nil {
		p := resp.readProblem()
		resp.read = &p
	}
	return *resp.read
}

func (resp *response) readProblem() (p problem) {
	fields, err := resp.object()
	if err != nil {
		return problem{fault: resp.text()}
	}
	read := func(name string, value any) {
		raw, ok := fields[name]
		switch {
		case p.fault != "":
		case !ok:
			p.fault = "no " + name + " in " + resp.text()
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
