package edge

import (
	"maps"
	"net/http"
)

// heldBack is a response whose size is known only with its first bytes, as that of a
// generated type: it holds back the header until there is room for them.
type heldBack struct {
	http.ResponseWriter
	take   func(size int) error
	before http.Header // as it was before the response
	status int         // of the header that is held back; 0 once it is sent, or before
}

// holdBack has the response of a method wait for room.
func (x *exchange) holdBack() {
	w := x.Response()
	x.held = &heldBack{ResponseWriter: w.Writer, take: x.take, before: maps.Clone(w.Header())}
	w.Writer = x.held
}

// WriteHeader implements http.ResponseWriter, as does Write.
func (h *heldBack) WriteHeader(status int) { h.status = status }

// Write see WriteHeader. What it refuses has not been sent at all.
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
	h.ResponseWriter.WriteHeader(h.status)
	h.status = 0
}

// sendHeldBack ends holdBack: it sends the header of a response without a body. Where
// the response failed, it is forgotten, so that an error can take its place.
func (x *exchange) sendHeldBack(err error) {
	if x.held == nil {
		return
	}
	w := x.Response()
	w.Writer = x.held.ResponseWriter
	switch {
	case x.held.status == 0:
	case err == nil:
		x.held.release()
	default:
		clear(w.Header())
		maps.Copy(w.Header(), x.held.before)
		w.Committed = false
	}
}
