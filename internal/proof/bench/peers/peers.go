// Package peers holds the servers that petstore is compared with: the same three
// operations as other teams would build them. A peer that cannot start panics.
package peers

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// The names of the peers.
const (
	Plain      = "plain Echo"
	Documented = "oapi-codegen as documented"
)

// Pet is the peers' record.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// RandomPet returns a pet without an ID. As in a shelter's records, most pets
// are sold and few available.
func RandomPet(r *rand.Rand) Pet {
	status := []string{"available", "pending", "pending", "sold", "sold", "sold", "sold", "sold"}[r.IntN(8)]
	return Pet{Name: strconv.FormatInt(1e5+r.Int64N(1e12), 36), CategoryID: 1 + r.Int64N(5), Status: status}
}

// store is what a peer keeps pets in.
type store interface {
	create(ctx context.Context, p Pet) (Pet, error)
	get(ctx context.Context, id int64) (Pet, error) // or errNoPet
	list(ctx context.Context, status string, after int64, limit int) ([]Pet, error)
}

var errNoPet = echo.NewHTTPError(http.StatusNotFound, "there is no such pet")

// New returns the peer with the given name. It accepts program.Key. address names
// an empty store: "memory:" or "sqlite:PATH".
func New(name, address string, log io.Writer) http.Handler {
	var s store = &memory{}
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s = openSQLite(path)
	}
	if name == Plain {
		return newPlain(s, log)
	}
	return newDocumented(s, log)
}

// Serve serves a peer until the process is killed.
func Serve(name, address, addr string) error {
	server := &http.Server{Addr: addr, Handler: New(name, address, os.Stderr), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	return server.ListenAndServe()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
