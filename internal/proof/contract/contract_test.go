package contract

import (
	"os"
	"testing"
)

// TestURL tests the service at the address in URL with the key in KEY:
//
//	make contract URL=http://127.0.0.1:8080/v1 KEY=…
func TestURL(t *testing.T) {
	Run(t, Server{
		URL: os.Getenv("URL"), Key: os.Getenv("KEY"), OtherKey: os.Getenv("OTHER_KEY"),
		ReadOnlyKey: os.Getenv("READ_ONLY_KEY"), ExpiredKey: os.Getenv("EXPIRED_KEY"), RevokedKey: os.Getenv("REVOKED_KEY"),
	})
}
