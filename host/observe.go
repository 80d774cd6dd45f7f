package host

import (
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/wasm/wire"
)

// Call is what one operation of the guest came to.
type Call struct {
	Op      string        // as docs/abi.md names it, "read_subchunk" for one
	Took    time.Duration // with its instance, from beginning to end
	Read    int64         // bytes from stores, files and servers
	Written int64         // bytes to files
	Output  int64         // bytes of the result
	Imports int64         // calls of the guest to the host
	Err     error
}

// Stats adds up the calls of a sandbox.
type Stats struct {
	Started  int64 // instances, those in use now and those before them
	Died     int64 // instances, of a fault
	Objects  int64 // open now
	Calls    int64
	Failures int64 // calls
	Took     time.Duration
	Read     int64 // bytes
	Written  int64 // bytes
	Output   int64 // bytes
	Imports  int64
}

// counters are those of Stats.
type counters struct {
	died, calls, failures, took, read, written, output, imports atomic.Int64
}

// Stats says what the sandbox has done so far.
func (s *Sandbox) Stats() Stats {
	c := &s.counters
	return Stats{
		Started: int64(s.serial.Load()), Died: c.died.Load(), Objects: s.objects.Load(),
		Calls: c.calls.Load(), Failures: c.failures.Load(), Took: time.Duration(c.took.Load()),
		Read: c.read.Load(), Written: c.written.Load(), Output: c.output.Load(), Imports: c.imports.Load(),
	}
}

// observe counts a call, and tells who wants to know.
func (s *Sandbox) observe(kind uint32, c Call) {
	n := &s.counters
	n.calls.Add(1)
	if c.Err != nil {
		n.failures.Add(1)
	}
	n.took.Add(int64(c.Took))
	n.read.Add(c.Read)
	n.written.Add(c.Written)
	n.output.Add(c.Output)
	n.imports.Add(c.Imports)
	if s.config.Observe != nil {
		c.Op = wire.KindName(kind)
		s.config.Observe(c)
	}
}
