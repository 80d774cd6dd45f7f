package storage

import (
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
)

// shut is whether something was closed.
type shut struct{ flag atomic.Bool }

func (s *shut) set() { s.flag.Store(true) }

func (s *shut) check(item string) error {
	if s.flag.Load() {
		return fault.New(fault.ErrClosed, "file", item, "")
	}
	return nil
}
