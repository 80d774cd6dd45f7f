//go:build !linux && !darwin && !freebsd && !windows

package linear

import "errors"

func reserve(uint64) ([]byte, error) { return nil, errors.ErrUnsupported }

func commit([]byte) error { return errors.ErrUnsupported }

func unreserve([]byte) {}
