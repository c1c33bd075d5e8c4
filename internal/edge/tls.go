package edge

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a TLS certificate whose files are read again when they
// change.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   [2]time.Time // of the files that were read last
	looked  time.Time
}

// loadCertificate reads a certificate with its chain and its private key.
func loadCertificate(certFile, keyFile string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger, looked: time.Now()}
	pair, stamp, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate: %w; give a certificate and its unencrypted key, both in PEM form, with --tls-cert and --tls-key", err)
	}
	c.current, c.stamp = pair, stamp
	return c, nil
}

func (c *certificate) read() (pair *tls.Certificate, stamp [2]time.Time, err error) {
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return nil, stamp, err
		}
		stamp[i] = info.ModTime()
	}
	loaded, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	return &loaded, stamp, err
}

// get is a tls.Config.GetCertificate. It looks at the files at most once a
// second, and keeps the old certificate if the new one cannot be used, for
// example because only one of the files has been written.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < time.Second {
		return c.current, nil
	}
	c.looked = time.Now()
	pair, stamp, err := c.read()
	switch {
	case stamp == c.stamp && err == nil:
	case err != nil:
		if stamp != c.stamp {
			c.logger.Error("the new certificate cannot be used, the old one stays in use", "error", err, "expires", c.current.Leaf.NotAfter)
		}
		c.stamp = stamp
	default:
		c.current, c.stamp = pair, stamp
		c.logger.Info("a new certificate is in use", "file", c.certFile, "expires", pair.Leaf.NotAfter)
	}
	return c.current, nil
}

// expiry returns when the certificate in use expires.
func (c *certificate) expiry() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Leaf.NotAfter
}
