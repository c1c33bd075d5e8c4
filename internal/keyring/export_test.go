package keyring

// The constants, for the tests.
const (
	CacheTTL          = cacheTTL
	MaxUnknownLookups = maxUnknownLookups
)
