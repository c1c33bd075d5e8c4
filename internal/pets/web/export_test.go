package web

// The texts of the page, for tests.
var (
	QuickStart = quickStart
	Samples    = samples
)
