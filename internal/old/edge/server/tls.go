package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/old/reason"
)

// pairPoll is how often the files of a pair are looked at. A new pair is loaded
// once both files have stayed as they are from one look to the next, since
// a renewal writes one after the other.
const pairPoll = time.Second

// pair is the certificate and its private key, as the files had them last.
type pair struct {
	certFile, keyFile string
	logger            *slog.Logger
	current           atomic.Pointer[tls.Certificate]

	// Of watch:
	loaded, seen stamp // of the pair that was tried last, and of the last look
}

// stamp tells two versions of the files apart.
type stamp [2]struct {
	changed time.Time
	size    int64
}

// CheckPair loads a certificate and its key, and returns when it expires. Its error is a
// sentence that says what to do.
func CheckPair(certFile, keyFile string) (expiry time.Time, err error) {
	cert, err := loadPair(certFile, keyFile, time.Now())
	if err != nil {
		return time.Time{}, err
	}
	return cert.Leaf.NotAfter, nil
}

// newPair loads the pair, or returns a sentence that says what to do.
func newPair(certFile, keyFile string, logger *slog.Logger) (*pair, error) {
	p := &pair{certFile: certFile, keyFile: keyFile, logger: logger}
	p.loaded = p.look()
	p.seen = p.loaded
	cert, err := loadPair(certFile, keyFile, time.Now())
	if err != nil {
		return nil, err
	}
	p.current.Store(cert)
	return p, nil
}

// config is the configuration of TLS. crypto/tls chooses versions from 1.2 on,
// and of their cipher suites those without known faults.
func (p *pair) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current.Load(), nil },
	}
}

// watch loads the pair anew when its files change, until ctx ends.
func (p *pair) watch(ctx context.Context) {
	ticker := time.NewTicker(pairPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.reload()
		case <-ctx.Done():
			return
		}
	}
}

// reload takes a new pair into use. One that cannot be used is logged once, and
// the old one stays.
func (p *pair) reload() {
	now := p.look()
	settled := now == p.seen
	p.seen = now
	if !settled || now == p.loaded {
		return
	}
	p.loaded = now
	cert, err := loadPair(p.certFile, p.keyFile, time.Now())
	if err != nil {
		p.logger.Error("the new certificate cannot be used, the old one stays in use", "error", err, "expires", p.current.Load().Leaf.NotAfter)
		return
	}
	p.current.Store(cert)
	p.logger.Info("a new certificate is in use", "file", p.certFile, "expires", cert.Leaf.NotAfter)
}

func (p *pair) look() (s stamp) {
	for i, file := range []string{p.certFile, p.keyFile} {
		if info, err := os.Stat(file); err == nil {
			s[i].changed, s[i].size = info.ModTime(), info.Size()
		}
	}
	return s
}

func loadPair(certFile, keyFile string, now time.Time) (*tls.Certificate, error) {
	certText, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate %s: %w; give a file in PEM form with --tls-cert", certFile, reason.Of(err))
	}
	keyText, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the private key %s: %w; give a file in PEM form with --tls-key", keyFile, reason.Of(err))
	}
	leaf := firstCertificate(certText)
	key := firstKey(keyText)
	switch {
	case leaf == nil:
		return nil, fmt.Errorf("%s holds no certificate in PEM form; give the file of the certificate and its chain with --tls-cert", certFile)
	case key == nil:
		return nil, fmt.Errorf("%s holds no private key in PEM form; give the file of the certificate's key with --tls-key", keyFile)
	case strings.HasPrefix(key.Type, "ENCRYPTED") || key.Headers["DEK-Info"] != "":
		return nil, fmt.Errorf("the private key %s is encrypted; decrypt it, as by openssl pkey, into a file that the server alone may read", keyFile)
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("the certificate %s expired on %s; renew it, or give another one with --tls-cert and --tls-key", certFile, leaf.NotAfter.UTC().Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("the certificate %s is not valid before %s; set this machine's clock right, or give another one with --tls-cert and --tls-key", certFile, leaf.NotBefore.UTC().Format(time.DateTime))
	}
	cert, err := tls.X509KeyPair(certText, keyText)
	if err != nil { // the text of crypto/tls names no file
		return nil, fmt.Errorf("the private key %s does not belong to the certificate %s; give the two files of one certificate with --tls-cert and --tls-key", keyFile, certFile)
	}
	cert.Leaf = leaf
	return &cert, nil
}

func firstCertificate(text []byte) *x509.Certificate {
	block := firstBlock(text, func(kind string) bool { return kind == "CERTIFICATE" })
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return leaf
}

func firstKey(text []byte) *pem.Block {
	return firstBlock(text, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") })
}

func firstBlock(text []byte, wanted func(kind string) bool) (block *pem.Block) {
	for {
		block, text = pem.Decode(text)
		if block == nil || wanted(block.Type) {
			return block
		}
	}
}
