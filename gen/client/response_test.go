package client_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/gen/client"
)

func TestAResponseThatIsNotTheServicesIsSaidToBeSo(t *testing.T) {
	for _, k := range []struct {
		what, contentType, body, want string
		status                        int
	}{
		{"a proxy's page", "text/html", "<h1>Bad Gateway</h1>", `502: got "502 Bad Gateway" of type "text/html"`, 502},
		{"a proxy's JSON", "application/json", `{"error":"no upstream"}`, `502: got "502 Bad Gateway"`, 502},
		{"another status in the body", "application/json", `{"code":"internal","message":"m","status":500}`, `502: got "502 Bad Gateway"`, 502},
		{"a portal's page", "text/html", "<h1>Log in</h1>", `200: got "200 OK" of type "text/html"`, 200},
		{"the service's own", "application/json", `{"code":"not_yet_known","message":"A new code.","status":418}`, "418 not_yet_known: A new code.", 418},
	} {
		response := &http.Response{StatusCode: k.status, Status: "502 Bad Gateway", Header: http.Header{"Content-Type": {k.contentType}}}
		if k.status == 200 {
			response.Status = "200 OK"
		}
		err := client.Check[client.Pet](nil, response, []byte(k.body))
		if err == nil || !strings.HasPrefix(err.Error(), k.want) {
			t.Errorf("%s: got error %v, want %q", k.what, err, k.want)
		}
	}
	if err := client.Check(&client.Pet{}, nil, nil); err != nil {
		t.Errorf("a success: got error %v, want none", err)
	}
}
