package client_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/gen/client"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/store/memory"
)

func TestAnAnswerThatIsNotTheServicesIsSaidToBeSo(t *testing.T) {
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
		answer := &http.Response{StatusCode: k.status, Status: "502 Bad Gateway", Header: http.Header{"Content-Type": {k.contentType}}}
		if k.status == 200 {
			answer.Status = "200 OK"
		}
		err := client.Check[client.Pet](nil, answer, []byte(k.body))
		if err == nil || !strings.HasPrefix(err.Error(), k.want) {
			t.Errorf("%s: got error %v, want %q", k.what, err, k.want)
		}
	}
	if err := client.Check(&client.Pet{}, nil, nil); err != nil {
		t.Errorf("a success: got error %v, want none", err)
	}
}

func TestEveryRequestCarriesTheKey(t *testing.T) {
	_, c := start(t, memory.New(), edge.BasePath)
	made, err := c.CreatePetWithResponse(t.Context(), nil, client.NewPet{Name: "Rex", CategoryID: 9007199254740993})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Check(made.JSON201, made.HTTPResponse, made.Body); err != nil {
		t.Fatal(err)
	}
	if got := made.JSON201.CategoryID; got != 9007199254740993 {
		t.Errorf("categoryId: got %d, want 9007199254740993", got)
	}
	if _, err := walked(t, client.All(t.Context(), c, nil)); err != nil {
		t.Errorf("listing: got error %v, want none", err)
	}
}

func TestAnEmptyKeyIsAnErrorBeforeAnyRequest(t *testing.T) {
	if _, err := client.NewClientWithResponses("http://127.0.0.1:8080/v1", client.WithKey("")); err == nil {
		t.Error("got no error, want one that says that the key is empty")
	}
}
