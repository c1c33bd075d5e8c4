package main

import (
	"regexp"
	"slices"
)

// What oasdiff calls errors and warnings hurts, and so does some of what it
// calls information. Each group says whom.
var harmful = []*regexp.Regexp{
	// Code generated from the document names operations, classes, types and
	// security schemes after these.
	regexp.MustCompile(`^api-(operation-id|tag|schema|security-component)-removed$`),
	// A client authenticates as the scheme says.
	regexp.MustCompile(`^api-security-component-(type-changed|oauth-.*-(changed|removed))$`),
	// What a client that says nothing gets becomes something else.
	regexp.MustCompile(`-default-value-(changed|removed)$`),
	// A client reads what was promised, errors and headers included.
	regexp.MustCompile(`^(optional-response-header|response-non-success-status|response-optional-property)-removed$`),
	regexp.MustCompile(`-discriminator-(removed|property-name-changed|mapping-(changed|deleted))$`),
	regexp.MustCompile(`^request-.*-became-read-only$|^response-.*-became-write-only$`),
	// The same bytes, but another type or constant in a client's code.
	regexp.MustCompile(`^response-.*(type|name)-specialized$|^response-.*-enum-value-removed$`),
	// A client was told when the operation goes.
	regexp.MustCompile(`^endpoint-reactivated$`),
	regexp.MustCompile(`^api-version-decreased$`),
}

// warning is oasdiff's level of what may hurt; errors are above it.
const warning = 2

func hurts(c change) bool {
	return c.Level >= warning || slices.ContainsFunc(harmful, func(h *regexp.Regexp) bool { return h.MatchString(c.ID) })
}
