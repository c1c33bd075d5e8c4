// Command example serves Task Boards: a second service, made with the face of the edge
// alone. README.md of the edge leads through it.
package main

import (
	"context"
	"crypto/subtle"
	_ "embed"
	"os"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/example/api"
)

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config ../../../gen/types.cfg.yaml openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config ../../../gen/server.cfg.yaml openapi.yaml

//go:embed openapi.yaml
var document []byte

func main() { os.Exit(edge.Run(service(os.Getenv("BOARDS_KEY")))) }

// service returns Task Boards, empty, which one key opens.
func service(key string) edge.Service {
	return edge.Service{
		Name:       "boards",
		Version:    "1.0.0",
		Document:   document,
		Operations: edge.Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(newBoards()),
		Authenticate: func(_ context.Context, token string) (edge.Identity, error) {
			if key == "" || subtle.ConstantTimeCompare([]byte(token), []byte(key)) == 0 {
				return edge.Identity{}, &edge.InvalidKey{Reason: "unknown"}
			}
			return edge.Identity{ID: "the key"}, nil
		},
		Ready: func(context.Context) error { return nil },
	}
}
