package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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

func loadCertificate(o Options) (*certificate, error) {
	c := &certificate{certFile: o.CertFile, keyFile: o.KeyFile, logger: o.Logger}
	c.expiry = promauto.With(o.Metrics).NewGauge(prometheus.GaugeOpts{
		Name: "tls_certificate_expiry_timestamp_seconds", Help: "When the certificate in use expires.",
	})
	return c, c.load()
}

// load reads the certificate with its chain and its private key.
func (c *certificate) load() error {
	c.read = time.Now()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("cannot use the certificate: %w", err)
	}
	c.current = &pair
	c.expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	return nil
}

// get implements tls.Config.GetCertificate. It reads the files at most once a second,
// and keeps the old pair while the new one does not match.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) < time.Second {
		return c.current, nil
	}
	old := c.current.Leaf
	if err := c.load(); err != nil {
		c.logger.Error("the new certificate cannot be used; the old one stays in use", "error", err, "expires", old.NotAfter)
	} else if !c.current.Leaf.Equal(old) {
		c.logger.Info("a new certificate is in use", "expires", c.current.Leaf.NotAfter)
	}
	return c.current, nil
}
