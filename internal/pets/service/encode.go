package service

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// The successful responses, which write themselves. The generated ones would
// encode by reflection a copy of the page with a pointer for every status: 26
// allocations more for a list of 20. A test holds the bytes to what the
// generated types encode to.

var (
	_ api.ListPetsResponseObject  = (*listed)(nil)
	_ api.CreatePetResponseObject = (*created)(nil)
	_ api.GetPetResponseObject    = (*got)(nil)
)

// listed is the 200 of listPets. Once it is encoded, any number of requests may share
// it.
type listed struct {
	link []string // the Link header; nil on the last page
	pets []pets.Pet
	size int    // of pets, once Size has counted
	body []byte // in place of pets, once they are encoded
}

// created is the 201 of createPet.
type created struct {
	body     []byte
	location string
}

// got is the 200 of getPet.
type got struct{ body []byte }

// VisitListPetsResponse writes the response.
func (r *listed) VisitListPetsResponse(w http.ResponseWriter) error {
	if r.link != nil {
		h := w.Header()
		h["Link"] = slices.Concat(h["Link"], r.link) // behind that of a deprecation
	}
	r.encode()
	return writeJSON(w, http.StatusOK, r.body)
}

// encode makes the body. A slow client then holds that, and not the pets too.
func (r *listed) encode() {
	if r.body != nil {
		return
	}
	b := append(make([]byte, 0, r.Size()), '[')
	for i := range r.pets {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPet(b, &r.pets[i])
	}
	r.pets, r.body = nil, append(b, "]\n"...)
}

// Size returns how many bytes the body has at most. Before it is made these are those
// of its texts exactly, and the longest of each number and status.
func (r *listed) Size() int {
	switch {
	case r.body != nil:
		return len(r.body)
	case r.size > 0:
		return r.size
	}
	const mostWithoutName = len(`{"id":,"name":"","categoryId":,"status":"available"},`) + 2*len("-9223372036854775808")
	r.size = len("[]\n")
	for i := range r.pets {
		r.size += mostWithoutName + quotedSize(r.pets[i].Name)
	}
	return r.size
}

// quotedSize returns how many bytes the text has in a JSON string.
func quotedSize(s string) int {
	size := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\t', c == '\n', c == '\f', c == '\r':
			size++ // a backslash before it
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// VisitCreatePetResponse writes the response.
func (r *created) VisitCreatePetResponse(w http.ResponseWriter) error {
	w.Header()["Location"] = []string{r.location}
	return writeJSON(w, http.StatusCreated, r.body)
}

// VisitGetPetResponse writes the response.
func (r *got) VisitGetPetResponse(w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, r.body)
}

func encodePet(p *pets.Pet) []byte {
	return append(appendPet(make([]byte, 0, 96+len(p.Name)), p), '\n')
}

func appendPet(b []byte, p *pets.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b, _ = jsontext.AppendQuote(b, p.Name) // invalid UTF-8 never came in; it would go out as U+FFFD
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	b = append(b, `,"status":"`...)
	b = append(b, p.Status...)
	return append(b, `"}`...)
}

var contentTypeJSON = []string{"application/json"}

// netHTTPBuffer is how much net/http holds back before it sends a header. Up
// to there it counts the Content-Length itself; beyond, it would send chunks.
const netHTTPBuffer = 2048

// writeJSON writes a body, whose last line has an end so that a shell's prompt
// stands on its own line.
func writeJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h["Content-Type"] = contentTypeJSON
	if len(body) >= netHTTPBuffer {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}
