package edge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/example/api"
)

// methods has two of the six methods of the document; a service has all of them.
type methods struct {
	api.StrictServerInterface
	err error
}

func (m methods) CountTasks(context.Context, api.CountTasksRequestObject) (api.CountTasksResponseObject, error) {
	if m.err != nil {
		return nil, m.err
	}
	return api.CountTasks200JSONResponse{Tasks: 3}, nil
}

func (methods) GetTask(ctx context.Context, r api.GetTaskRequestObject) (api.GetTaskResponseObject, error) {
	return nil, edge.Refuse(404, "not_found", fmt.Sprintf("%s has no task %d", edge.Caller(ctx).ID, r.TaskID))
}

// boards returns the smallest service of the document.
func boards() edge.Service {
	document, err := os.ReadFile("example/openapi.yaml")
	if err != nil {
		panic(err)
	}
	return edge.Service{
		Name:       "boards",
		Version:    "1.0.0",
		Document:   document,
		Operations: edge.Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(methods{}),
		Authenticate: func(_ context.Context, token string) (edge.Identity, error) {
			if token != "a-key" {
				return edge.Identity{}, &edge.InvalidKey{Reason: "unknown"}
			}
			return edge.Identity{ID: "Ada"}, nil
		},
		Ready: func(context.Context) error { return nil },
	}
}

// get prints the response to a GET with a key.
func get(s edge.Service, path string) {
	handler, err := edge.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer a-key")
	handler.ServeHTTP(w, r)
	fmt.Print(w.Code, " ", w.Body)
}

func ExampleNew() {
	get(boards(), "/v2/summary")
	// Output: 200 {"tasks":3}
}

func ExampleNew_missing() {
	_, err := edge.New(edge.Service{Name: "boards", Version: "1.0.0"})
	fmt.Println(err)
	// Output:
	// edge.Service: Document is missing
	// edge.Service: Operations is missing
	// edge.Service: Ready is missing
}

func ExampleRefuse() {
	get(boards(), "/v2/boards/home/tasks/7")
	// Output: 404 {"code":"not_found","message":"Ada has no task 7","status":404}
}

func ExampleService_authorize() {
	s := boards()
	s.Authorize = func(caller edge.Identity, o edge.Operation) error {
		if o.ID == "getTask" {
			return edge.Refuse(403, "forbidden", caller.ID+" may not look at tasks")
		}
		return nil
	}
	get(s, "/v2/boards/home/tasks/7")
	// Output: 403 {"code":"forbidden","message":"Ada may not look at tasks","status":403}
}

func ExampleService_problem() {
	errGone := errors.New("gone")
	s := boards()
	s.Problem = func(err error) (status int, code, message string) {
		if errors.Is(err, errGone) {
			return 410, "gone", "the task was here once"
		}
		return 0, "", ""
	}
	s.Operations = edge.Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(methods{err: errGone})
	get(s, "/v2/summary")
	// Output: 410 {"code":"gone","message":"the task was here once","status":410}
}

func ExampleRunIn() {
	status := edge.RunIn(context.Background(), edge.Environment{
		Args: []string{"--version"}, Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr,
	}, boards())
	fmt.Println("exit status", status)
	// Output:
	// boards 1.0.0
	// exit status 0
}
