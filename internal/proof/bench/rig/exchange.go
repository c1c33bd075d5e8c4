package rig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Get returns the request for a target, with the key.
func Get(target string) []byte {
	return []byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + Key + "\r\n\r\n")
}

// Post returns the request that creates a pet, with the key.
func Post(body string) []byte {
	return fmt.Appendf(nil, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", Key, len(body), body)
}

// response is what the open load needs of a response.
type response struct {
	status string
	closes bool // the connection
}

var (
	contentLength   = []byte("Content-Length: ")
	connectionClose = []byte("Connection: close\r")
)

// readResponse reads a response, as little of it as tells where it ends: that costs
// less than the client of net/http, which would cost more than the servers do.
func readResponse(r *bufio.Reader) (response, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return response{}, err
	}
	if len(line) < 12 {
		return response{}, fmt.Errorf("the response begins with %q", line)
	}
	read, length := response{status: string(line[9:12])}, int64(-1)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return response{}, err
		case len(line) <= 2 && length < 0:
			return response{}, errors.New("the response has no Content-Length")
		case len(line) <= 2:
			_, err := io.CopyN(io.Discard, r, length)
			return read, err
		case bytes.HasPrefix(line, contentLength):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(line[len(contentLength):])), 10, 64); err != nil {
				return response{}, err
			}
		case bytes.HasPrefix(line, connectionClose):
			read.closes = true
		}
	}
}
