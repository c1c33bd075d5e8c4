package main

import (
	"fmt"
	"net/url"
	"strings"

	"example.com/petstore/internal/pets/web"
)

// publicBase returns the public base address, "" for none. It ends in the version
// segment whether the operator wrote it or not.
func publicBase(publicURL string) (string, error) {
	if publicURL == "" {
		return "", nil
	}
	u, err := url.Parse(publicURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsAny(publicURL, "<>#") {
		return "", usageError{fmt.Errorf("--public-url %q must be an http or https address without user, query or fragment, such as https://pets.example.com/v1", publicURL)}
	}
	base := strings.TrimRight(u.String(), "/")
	return strings.TrimSuffix(base, web.BasePath) + web.BasePath, nil
}
