package peers

import (
	"encoding/json"
	"io"
	"net/http"
)

// newConstant returns a server that responds with bytes made beforehand.
func newConstant(io.Writer) (http.Handler, error) {
	s := newCatalogue()
	list, err := json.Marshal(s.list("", 20))
	if err != nil {
		return nil, err
	}
	filtered, err := json.Marshal(s.list("sold", 20))
	if err != nil {
		return nil, err
	}
	one, err := json.Marshal(s.pets[6])
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, status int, body []byte) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	mux.HandleFunc("GET /v1/pets", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "limit=20" {
			send(w, http.StatusOK, list)
			return
		}
		send(w, http.StatusOK, filtered)
	})
	mux.HandleFunc("POST /v1/pets", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/v1/pets/7")
		send(w, http.StatusCreated, one)
	})
	mux.HandleFunc("GET /v1/pets/{petId}", func(w http.ResponseWriter, r *http.Request) {
		send(w, http.StatusOK, one)
	})
	return mux, nil
}
