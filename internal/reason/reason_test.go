package reason_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/reason"
)

func TestNamesAndCallsAreLeftOut(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, open := os.Open(missing)
	var d net.Dialer
	_, dial := d.DialContext(t.Context(), "tcp", "127.0.0.1:0")
	_, noPort := d.DialContext(t.Context(), "tcp", "127.0.0.1")
	noHost := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "db", IsNotFound: true}}
	own := errors.New("the file is empty")
	for _, c := range []struct {
		err  error
		want string
	}{
		{open, "no such file or directory"},
		{os.Rename(missing, missing+"2"), "no such file or directory"},
		{dial, "connection refused"},
		{noPort, "missing port in address"},
		{noHost, "there is no such host, or no such port"},
		{own, "the file is empty"},
		{fmt.Errorf("row 7: %w", open), "row 7: open " + missing + ": no such file or directory"},
	} {
		if got := reason.Of(c.err); got == nil || got.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.err, got, c.want)
		}
	}
	if got := reason.Of(nil); got != nil {
		t.Errorf("of no error: got %v, want nil", got)
	}
}
