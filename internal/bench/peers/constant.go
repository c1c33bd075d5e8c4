package peers

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// Constant answers every operation with bytes made beforehand.
func Constant() (http.Handler, error) {
	s := newShelf()
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

// Dressed is Constant with the headers that this service promises.
func Dressed() (http.Handler, error) {
	constant, err := Constant()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Request-Id"] = []string{rand.Text()}
		h["X-Content-Type-Options"] = []string{"nosniff"}
		h["Cache-Control"] = []string{"no-store"}
		switch {
		case r.URL.RawQuery != "":
			h["Link"] = []string{`</v1/pets?limit=20&after=20>; rel="next"`}
		case r.Method == http.MethodGet:
			h["Deprecation"] = []string{"@1795219200"}
			h["Sunset"] = []string{"Thu, 05 Dec 2030 00:00:00 GMT"}
		}
		constant.ServeHTTP(w, r)
	}), nil
}
