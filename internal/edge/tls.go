package edge

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificate is a TLS certificate that is reloaded when its files change.
type certificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	expiry            prometheus.Gauge // of current

	mu      sync.Mutex
	current *tls.Certificate
	read    time.Time // when the files were last read
	failed  bool      // whether they could not be used
}

// loadCertificate reads a certificate with its chain and its private key.
func loadCertificate(certFile, keyFile string, logger *slog.Logger, expiry prometheus.Gauge) (*certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	if expired(&pair) {
		logger.Warn("the certificate has expired", "file", certFile, "expires", pair.Leaf.NotAfter)
	}
	expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	return &certificate{certFile: certFile, keyFile: keyFile, logger: logger, expiry: expiry, current: &pair, read: time.Now()}, nil
}

// get implements tls.Config.GetCertificate. It reads the files at most once a second,
// and keeps the old pair while the new one does not match, or if only it has expired.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < time.Second {
		return c.current, nil
	}
	c.read = time.Now()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil && expired(&pair) && !expired(c.current) {
		err = fmt.Errorf("%s expired at %s", c.certFile, pair.Leaf.NotAfter)
	}
	switch {
	case err != nil && !c.failed:
		c.logger.Error("the new certificate cannot be used; the old one stays in use", "error", err, "expires", c.current.Leaf.NotAfter)
	case err == nil && !slices.EqualFunc(pair.Certificate, c.current.Certificate, bytes.Equal):
		c.current = &pair
		c.expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
		c.logger.Info("a new certificate is in use", "file", c.certFile, "expires", pair.Leaf.NotAfter)
	}
	c.failed = err != nil
	return c.current, nil
}

func expired(pair *tls.Certificate) bool { return time.Now().After(pair.Leaf.NotAfter) }
