package edge

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/old/edge/program"
)

// loadDocument reads the document and checks it against OpenAPI itself.
func loadDocument(data []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return doc, nil
}

// basePath returns the path of the document's servers, which the path of every
// operation follows: /v1. It is "" where that is the root.
func basePath(doc *openapi3.T) (string, error) {
	var paths []string
	for _, server := range doc.Servers {
		address := server.URL
		for name, variable := range server.Variables {
			address = strings.ReplaceAll(address, "{"+name+"}", variable.Default)
		}
		u, err := url.Parse(address)
		if err != nil {
			return "", fmt.Errorf("openapi.yaml: the server %q is no address", server.URL)
		}
		paths = append(paths, strings.TrimRight(u.Path, "/"))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	switch {
	case len(paths) == 0:
		return "", nil // OpenAPI 3.0.3, section 4.7.1.1: the server is then /
	case len(paths) > 1:
		return "", fmt.Errorf("openapi.yaml: its servers have several paths, %s; the service has one", strings.Join(paths, " and "))
	}
	for segment := range strings.SplitSeq(paths[0], "/") {
		if !literalSegment.MatchString(segment) {
			return "", fmt.Errorf("openapi.yaml: the segment %q of its servers' path is not plain text (A-Z a-z 0-9 . _ ~ -)", segment)
		}
	}
	return paths[0], nil
}

// linkBase returns the beginning of links: base, or the public address, which ends in
// base whether it was given so or not.
func linkBase(publicURL, base string) (string, error) {
	if publicURL == "" {
		return base, nil
	}
	if err := program.CheckPublicURL(publicURL); err != nil {
		return "", fmt.Errorf("the public address %q: %w", publicURL, err)
	}
	return strings.TrimSuffix(strings.TrimRight(publicURL, "/"), base) + base, nil
}

// literalSegment matches a segment of a path that is plain text.
var literalSegment = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)

// ownNames are the first segments of the paths that the edge itself serves, and the
// names of its metrics for them.
var ownNames = []string{"livez", "readyz", "openapi.yaml", "openapi.json", "docs", "document", "unknown"}

// checkOwnNames returns an error where an operation at path would be taken for something
// that the edge itself serves.
func checkOwnNames(id, path string) error {
	if slices.Contains(ownNames, id) {
		return fmt.Errorf("its operationId cannot be %s, which the metrics have for a path of the service's own", id)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if slices.Contains(ownNames, first) {
		return errors.New("its path begins with /" + first + ", where the service has a page of its own")
	}
	return nil
}
