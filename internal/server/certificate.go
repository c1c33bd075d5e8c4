package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
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
}

// get implements tls.Config.GetCertificate. It reads the files at most once a second,
// and keeps the old pair while the new one does not match.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < time.Second {
		return c.current, nil
	}
	c.read = time.Now()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	switch {
	case err != nil && c.current == nil:
		return nil, fmt.Errorf("cannot use the certificate: %w", err)
	case err != nil:
		c.logger.Error("the new certificate cannot be used; the old one stays in use",
			"error", err, "expires", c.current.Leaf.NotAfter)
	case c.current == nil || !pair.Leaf.Equal(c.current.Leaf):
		c.current = &pair
		c.expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
		c.logger.Info("a new certificate is in use", "expires", pair.Leaf.NotAfter)
	}
	return c.current, nil
}
