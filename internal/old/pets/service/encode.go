package service

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/old/gen/api"
	"example.com/petstore/internal/old/pets"
)

// The successful responses, which write themselves. A test holds their bytes to the
// encoding of the generated types.

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
		b = AppendPet(b, &r.pets[i])
	}
	r.pets, r.body = nil, append(b, "]\n"...)
}

// Size returns a number of bytes that the body does not exceed. Once the body is made,
// that is its length.
func (r *listed) Size() int {
	switch {
	case r.body != nil:
		return len(r.body)
	case r.size > 0:
		return r.size
	}
	r.size = len("[]\n")
	for i := range r.pets {
		r.size += sizeOf(&r.pets[i]) + len(",")
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

// Size returns how many bytes the body has.
func (r *created) Size() int { return len(r.body) }

// Size returns how many bytes the body has.
func (r *got) Size() int { return len(r.body) }

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
	return append(AppendPet(make([]byte, 0, 96+len(p.Name)), p), '\n')
}

// appendText appends a text as JSON. Invalid UTF-8 never came in; it would go out as
// U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
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
