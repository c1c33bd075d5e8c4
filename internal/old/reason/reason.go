// Package reason takes the names of calls, files and addresses out of the errors of
// the standard library, for sentences that have the name already.
package reason

import (
	"errors"
	"io/fs"
	"net"
	"os"
)

// Of returns what went wrong in an error of package os or net: "permission denied" of
// "open pets.csv: permission denied". Any other error is returned as it is.
func Of(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return Of(e.Err)
	case *os.LinkError:
		return Of(e.Err)
	case *os.SyscallError:
		return Of(e.Err)
	case *net.OpError:
		return Of(e.Err)
	case *net.AddrError:
		return errors.New(e.Err) // missing port in address
	case *net.DNSError:
		return errors.New("there is no such host, or no such port")
	}
	return err
}
