package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/fault"
)

const document = `{
	"openapi": "3.0.3",
	"info": {"title": "Greetings", "version": "1.0.0"},
	"servers": [{"url": "/v1"}],
	"security": [{"bearer": []}],
	"components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
	"paths": {"/greetings/{name}": {"get": {
		"operationId": "greet",
		"parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[A-Z]",
			"x-pattern-message": "must begin with a capital"}}],
		"responses": {"200": {"description": "A greeting."}}
	}}}
}`

// greeter implements the document, as generated code and a few lines do for a larger one.
type greeter struct{}

func (greeter) Register(e *echo.Echo, base string, operations map[string][]echo.MiddlewareFunc) {
	greet := func(c echo.Context) error {
		return c.String(http.StatusOK, "Hello "+c.Param("name")+", from "+edge.CallerOf(c.Request().Context()).ID)
	}
	e.GET(base+"/greetings/:name", greet, operations["greet"]...)
}

func (greeter) Authenticate(_ context.Context, token string) (edge.Caller, error) {
	if token != "key-of-anna" {
		return edge.Caller{}, fault.New(fault.Unauthorized, "")
	}
	return edge.Caller{ID: "anna"}, nil
}

func (greeter) ErrorBody(_ fault.Kind, message string) any { return message }

func (greeter) Ready(context.Context) error { return nil }

func Example() {
	parsed, err := edge.ParseDocument([]byte(document), []byte(document))
	if err != nil {
		panic(err)
	}
	handler, err := edge.New(parsed, greeter{}, edge.Options{})
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"Bob", "bob"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/greetings/"+name, nil)
		r.Header.Set("Authorization", "Bearer key-of-anna")
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 Hello Bob, from anna
	// 400 "name must begin with a capital"
}
