// Package web is the pet store as the edge serves it. It holds what the page at /docs
// shows of the pet store alone.
package web

import _ "embed"

// QuickStart is the beginning of the page, in Markdown.
//
//go:embed quickstart.md
var QuickStart string

// Samples are what stands beside each operation on the page, by operationId, in the
// form of x-codeSamples. TestTheSamplesAreTheTestedOnes writes and checks them.
//
//go:embed samples.yaml
var Samples []byte
