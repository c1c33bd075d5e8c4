// Package peers holds the servers that petstore is compared with: the same three
// operations as other teams would build them. A peer that cannot start panics.
package peers

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// Key is the API key that all measured servers accept.
const Key = "key-of-the-measurements"

// Pet is the peers' record.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// Pets yields n pets with random names, the same ones on every call.
func Pets(n int) iter.Seq[Pet] {
	return func(yield func(Pet) bool) {
		r := rand.New(rand.NewPCG(34, 0))
		for range n {
			name := strconv.FormatInt(1e5+r.Int64N(1e12), 36)
			// As in a shelter's records, most animals are sold and few available.
			status := []string{"available", "pending", "pending", "sold", "sold", "sold", "sold", "sold"}[r.IntN(8)]
			if !yield(Pet{Name: name, CategoryID: 1 + r.Int64N(5), Status: status}) {
				return
			}
		}
	}
}

// store is what a peer keeps pets in.
type store interface {
	create(ctx context.Context, p Pet) (Pet, error)
	get(ctx context.Context, id int64) (Pet, error) // or errNoPet
	list(ctx context.Context, status string, after int64, limit int) ([]Pet, error)
}

var errNoPet = echo.NewHTTPError(http.StatusNotFound, "there is no such pet")

// Serve runs the peer with the given name until the process is killed. address
// names an empty store: "memory:", "sqlite:PATH" or "postgres://…".
func Serve(name, address, addr string) error {
	var s store = &memory{}
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s = openSQLite(path, name == "prepared")
	} else if strings.HasPrefix(address, "postgres:") {
		s = openPostgres(address)
	}
	h := map[string]func(store) http.Handler{"constant": newConstant, "dressed": newDressed, "equipped": newEquipped, "prepared": newEquipped}[name](s)
	server := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	return server.ListenAndServe()
}

// newConstant returns a server with canned responses, which shows what net/http
// costs. It ignores the key, the query and the body.
func newConstant(store) http.Handler {
	pets := slices.Collect(Pets(20))
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
