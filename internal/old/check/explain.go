package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// explain makes a sentence of the error of a request without a response. The
// sentence never holds a part of the request.
func (p *probe) explain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the request is shown elsewhere
	}
	host := p.Base.Hostname()
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return errors.New("its certificate is signed by an authority that this machine does not trust; SSL_CERT_FILE can name a file with that authority's certificate")
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("its certificate is for %v, not for %s", e.Certificate.DNSNames, host)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return fmt.Errorf("its certificate is not valid: %w", e)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("there is no host %s", host)
	}
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case notTLS, errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("it does not speak TLS: give an address that begins with http://")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s", p.Base.Host)
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		return fmt.Errorf("nothing came within %v; --timeout allows more", p.Timeout)
	}
	return err
}
