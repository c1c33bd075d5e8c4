package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// How long a client may keep a file: forever where the name changes with the
// content (RFC 8246), else it asks each time whether there is another.
const (
	immutable  = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// A file is bytes that are ready to be sent. To send it costs no more than to
// copy them, and nothing for HEAD and for clients that have them already.
type file struct {
	header http.Header // of every response: Content-Type, Cache-Control and what else the file asks for
	codings
}

// codings are the same bytes, plain and, unless it is nil, compressed.
type codings struct{ plain, zipped *coded }

// coded is a representation of a file (RFC 9110, section 8).
type coded struct {
	tag    []string // the header fields, made once
	length []string
	bytes  func() ([]byte, error)
}

// newCoded returns the representation of data that is length bytes long. The
// suffix tells the representations of the same data apart.
func newCoded(sum, suffix string, length int, bytes func() ([]byte, error)) *coded {
	return &coded{[]string{`"` + sum + suffix + `"`}, []string{strconv.Itoa(length)}, bytes}
}

func plain(data []byte) codings {
	return codings{plain: newCoded(checksum(data), "", len(data), func() ([]byte, error) { return data, nil })}
}

// compressed returns data as it is and compressed, unless that would save
// nothing.
func compressed(data []byte) (codings, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return codings{}, err
	}
	if _, err := w.Write(data); err != nil {
		return codings{}, err
	}
	if err := w.Close(); err != nil {
		return codings{}, err
	}
	c := plain(data)
	if out.Len() < len(data) {
		c.zipped = newCoded(checksum(data), "-gzip", out.Len(), func() ([]byte, error) { return out.Bytes(), nil })
	}
	return c, nil
}

// zipped returns what data, a gzip stream, holds. The first client that cannot
// read gzip has it decompressed, for all that follow.
func zipped(data []byte) (codings, error) {
	if len(data) < 4 {
		return codings{}, fmt.Errorf("a gzip stream of %d bytes", len(data))
	}
	length := binary.LittleEndian.Uint32(data[len(data)-4:]) // ISIZE (RFC 1952, section 2.3.1)
	unzip := sync.OnceValues(func() ([]byte, error) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		out := make([]byte, length)
		_, err = io.ReadFull(r, out)
		return out, err
	})
	return codings{
		plain:  newCoded(checksum(data), "", int(length), unzip),
		zipped: newCoded(checksum(data), "-gzip", len(data), func() ([]byte, error) { return data, nil }),
	}, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// ServeHTTP serves GET and HEAD.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, c := w.Header(), f.plain
	for name, values := range f.header {
		h[name] = values
	}
	if f.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header) {
			c = f.zipped
		}
	}
	h["Etag"] = c.tag
	if isKnown(r.Header, c.tag[0]) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if c == f.zipped {
		h.Set("Content-Encoding", "gzip")
	}
	h["Content-Length"] = c.length
	if r.Method == http.MethodHead {
		return
	}
	data, err := c.bytes()
	if err != nil { // of embedded files alone, and a test reads them all
		panic(err)
	}
	_, _ = w.Write(data) // a client that has gone needs no response
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func acceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// isKnown reports whether the client has the bytes of this tag already (RFC
// 9110, section 13.1.2).
func isKnown(h http.Header, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(h["If-None-Match"], ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}
