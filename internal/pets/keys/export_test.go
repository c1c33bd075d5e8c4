package keys

// The constants, for the tests.
const (
	CacheTTL          = cacheTTL
	MaxUnknownLookups = maxUnknownLookups
)
