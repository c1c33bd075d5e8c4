package edge

import (
	"maps"
	"net/http"

	"github.com/labstack/echo/v4"
)

// heldBack is a response whose size is known only with its first bytes, as that of a
// generated type: it holds back the status and the header until there is room for them.
type heldBack struct {
	http.ResponseWriter
	take   func(size int) error
	header http.Header // of the response alone
	status int         // that is held back; 0 once it is sent, or before
}

// holdBack has the response of a method wait until take has taken the room for it.
func holdBack(w *echo.Response, take func(size int) error) *heldBack {
	h := &heldBack{ResponseWriter: w.Writer, take: take, header: http.Header{}}
	w.Writer = h
	return h
}

// Header implements http.ResponseWriter, as do WriteHeader and Write.
func (h *heldBack) Header() http.Header { return h.header }

// WriteHeader see Header.
func (h *heldBack) WriteHeader(status int) { h.status = status }

// Write see Header. What it refuses has not been sent at all.
func (h *heldBack) Write(b []byte) (int, error) {
	if h.status != 0 {
		if err := h.take(len(b)); err != nil {
			return 0, err
		}
		h.release()
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *heldBack) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *heldBack) release() {
	maps.Copy(h.ResponseWriter.Header(), h.header)
	h.ResponseWriter.WriteHeader(h.status)
	h.status = 0
}

// end ends holdBack, if it was called: it sends a response without a body. Where the
// response failed, it is forgotten, so that an error can take its place.
func (h *heldBack) end(w *echo.Response, err error) {
	if h == nil {
		return
	}
	w.Writer = h.ResponseWriter
	switch {
	case h.status == 0:
	case err == nil:
		h.release()
	default:
		w.Committed = false
	}
}
