package host

import (
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// What a sandbox allows where its Config does not say.
const (
	DefaultMemory   = 512 << 20   // bytes of one instance
	DefaultDeadline = time.Minute // of one call
	DefaultRead     = 4 << 30     // bytes that one call reads
	DefaultOutput   = 256 << 20   // bytes of one result
	DefaultObjects  = 4096        // open at a time
)

// Unlimited in place of a limit other than Memory is none.
const Unlimited = -1

// Limits bound what one call, and what is open, may cost. 0 is the default,
// Unlimited none.
type Limits struct {
	// Deadline is how long one call may take once it has its instance: then it
	// ends with ErrCancelled, which is a context.DeadlineExceeded, too. Calls
	// that are many operations (Prefetch, Watch, ReadImages) count each.
	Deadline time.Duration
	Read     int64 // bytes that one call may have read from stores, files and servers: ErrLimit
	Output   int64 // bytes of the result of one operation: ErrLimit
	Objects  int64 // arrays, groups, containers, stacks and scratches that are open at a time: ErrLimit
}

func (l *Limits) setDefaults() {
	if l.Deadline == 0 {
		l.Deadline = DefaultDeadline
	}
	for _, of := range []struct {
		limit *int64
		or    int64
	}{{&l.Read, DefaultRead}, {&l.Output, DefaultOutput}, {&l.Objects, DefaultObjects}} {
		if *of.limit == 0 {
			*of.limit = of.or
		}
	}
}

// admit counts an object that is about to be opened. The caller calls leave,
// which calls free, too, when it is closed, or not opened after all.
func (s *Sandbox) admit(free func()) (leave func(), err error) {
	most := s.config.Limits.Objects
	leave = sync.OnceFunc(func() {
		s.objects.Add(-1)
		free()
	})
	for {
		n := s.objects.Load()
		if most >= 0 && n >= most {
			free()
			return nil, fault.New(fault.ErrLimit, "sandbox", "", "as many objects are open as Limits.Objects allows")
		}
		if s.objects.CompareAndSwap(n, n+1) {
			return leave, nil
		}
	}
}

// read counts bytes that the call in progress has read.
func (c *callContext) read(n int64) error {
	c.spent.Read += n
	if most := c.in.sandbox.config.Limits.Read; most >= 0 && c.spent.Read > most {
		return fault.New(fault.ErrLimit, "sandbox", "", "the call reads more than Limits.Read allows")
	}
	return nil
}
