package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/gridhold/gridhold/sdk/fault"
)

// failure gives an error of the system the kind of package fault that it is,
// and the name it happened to. Errors that have a kind stay as they are.
func failure(name string, err error) error {
	if err == nil {
		return nil // apart from what follows, which takes memory
	}
	return failed(name, err)
}

func failed(name string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	why := err
	var pe *fs.PathError
	var le *os.LinkError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		why = pe.Err
	case errors.As(err, &le):
		why = le.Err
	case errors.As(err, &se):
		why = se.Err
	}
	var number syscall.Errno
	kind := fault.ErrIO
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		kind = fault.ErrNotFound
	case errors.Is(err, fs.ErrClosed):
		kind = fault.ErrClosed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind = fault.ErrCancelled
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		kind = fault.ErrExists
	case errors.Is(err, syscall.EROFS):
		kind = fault.ErrReadOnly
	case errors.Is(err, fs.ErrPermission):
		kind = fault.ErrNotAllowed
	case noSpace(err):
		kind = fault.ErrNoSpace
	case errors.Is(err, errors.ErrUnsupported):
		kind = fault.ErrUnsupported
	case errors.As(err, &number):
	case pe != nil || le != nil:
		// What os.Root refuses by itself is not an error number: the path
		// leads out.
		kind = fault.ErrNotAllowed
	}
	return fault.New(kind, "file", name, why.Error())
}

// tooManyOpen reports whether files must be closed before more can be opened.
func tooManyOpen(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
