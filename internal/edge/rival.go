package edge

import (
	"net/http"
	"slices"
	"strings"
)

// rival is a path of the document that matches some of the paths of a template, and
// matches them first (OpenAPI 3.0.3, section 4.7.8.2: the concrete path matches first). Echo
// takes the template where the rival has no operation of the method, which is a 405.
type rival struct {
	path   string         // as Echo has it
	values map[int]string // of the template's parameters, by their index, in the rival
	allow  string
}

// rivalOf returns the rival that the values of the path's parameters are of, or nil.
func rivalOf(values []string, rivals []rival) *rival {
	for i := range rivals {
		r := &rivals[i]
		matches := true
		for index, literal := range r.values {
			matches = matches && values[index] == literal
		}
		if matches {
			return r
		}
	}
	return nil
}

// moreConcrete returns the values that the parameters of template have in path, by the
// parameters' order. It returns nil unless template matches path and path matches
// first: of the first segments that differ, the one in template is a parameter.
func moreConcrete(path, template string) map[int]string {
	segments, others := strings.Split(path, "/"), strings.Split(template, "/")
	if len(segments) != len(others) {
		return nil
	}
	values := map[int]string{}
	parameter := -1
	for i, other := range others {
		segment, isParameter := segments[i], strings.HasPrefix(segments[i], ":")
		if strings.HasPrefix(other, ":") {
			parameter++
			if !isParameter {
				values[parameter] = segment
			}
			continue
		}
		if isParameter && len(values) == 0 || !isParameter && segment != other {
			return nil
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// allowed returns the methods of a path as Echo has them in Allow.
func allowed(methods []string) string {
	if slices.Contains(methods, http.MethodGet) {
		methods = append(slices.Clone(methods), http.MethodHead)
	}
	return http.MethodOptions + ", " + strings.Join(slices.Sorted(slices.Values(methods)), ", ")
}
