//go:build !unix && !windows

package mmap

import (
	"errors"
	"os"
)

// Supported says whether this system has mappings.
const Supported = false

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return errors.ErrUnsupported }

func start([]byte) uintptr { return 0 }

func loadWord([]byte, int64) uint64 { return 0 } // there is no mapping to load from
