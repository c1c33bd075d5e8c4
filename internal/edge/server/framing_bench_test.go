package server

import (
	"fmt"
	"testing"
)

// BenchmarkFraming looks at the bytes of a create. `make bench-attack` puts the
// result beside a whole create.
func BenchmarkFraming(b *testing.B) {
	const body = `{"name":"Frank","categoryId":1,"status":"pending"}`
	request := fmt.Appendf(nil, "POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		"psk_00000000_000000000000000000000000000000000000", len(body), body)
	f := new(framing)
	for b.Loop() {
		for rest := request; len(rest) > 0; {
			rest = rest[f.pass(rest):]
		}
	}
}
