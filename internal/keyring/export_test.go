package keyring

// CacheTTL is cacheTTL for the tests.
const CacheTTL = cacheTTL
