// Package peers holds the servers that petstore is compared with: the same three
// operations as other teams would build them. A peer that cannot start panics.
package peers

import (
	"context"
	"encoding/json"
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
	Prepared   = "plain Echo, prepared"
	Documented = "oapi-codegen as documented"
	Constant   = "net/http, constant"
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
// an empty store: "memory:", "sqlite:PATH" or "postgres://…".
func New(name, address string, log io.Writer) http.Handler {
	var s store = &memory{}
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s = openSQLite(path, name == Prepared)
	} else if strings.HasPrefix(address, "postgres:") {
		s = openPostgres(address)
	}
	switch name {
	case Plain, Prepared:
		return newPlain(s, log)
	case Documented:
		return newDocumented(s, log)
	case Constant:
		return newConstant()
	}
	panic("there is no peer " + name)
}

// Serve serves a peer until the process is killed.
func Serve(name, address, addr string) error {
	server := &http.Server{Addr: addr, Handler: New(name, address, os.Stderr), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	return server.ListenAndServe()
}

// newConstant returns a server with canned responses, which shows what net/http
// costs. It ignores the key, the query and the body.
func newConstant() http.Handler {
	r, pets := rand.New(rand.NewPCG(0, 0)), make([]Pet, 20)
	for i := range pets {
		pets[i] = RandomPet(r)
	}
	list, one := must(json.Marshal(pets)), must(json.Marshal(pets[0]))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusOK, one
		if r.Method == http.MethodPost {
			status = http.StatusCreated
		} else if strings.HasSuffix(r.URL.Path, "/pets") {
			body = list
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
