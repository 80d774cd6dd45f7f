package plugin

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// The defaults of Options.
const (
	DefaultMemory   = 256 << 20
	DefaultDeadline = 10 * time.Second
	DefaultTables   = 1 << 16
	DefaultStack    = 1 << 20
	DefaultModule   = 8 << 20
	DefaultRead     = 64 << 20
	DefaultWork     = 1 << 19
)

// Options are those of opening. The zero value is the advice.
type Options struct {
	// Memory is the cap of one instance's memory in bytes; 0: DefaultMemory.
	// What a codec takes and gives has to fit at once.
	Memory int64
	// Deadline is how long one call may take; 0: DefaultDeadline. A call also
	// ends with its context. It is noticed some milliseconds late, and not
	// within one operation on a range of memory.
	Deadline time.Duration
	// Tables is how many elements the tables of an instance may have together;
	// 0: DefaultTables.
	Tables int
	// Stack is how deep functions may nest, in bytes by an estimate; 0: DefaultStack.
	Stack int
	// Module is how many bytes the plugin may have; 0: DefaultModule. Compiling
	// cannot be interrupted.
	Module int
	// Work is how much work compiling may be, by an estimate that grows with
	// blocks times locals; 0: DefaultWork, a second or two.
	Work int
	// Read is how many bytes a reader may read for one answer; 0: DefaultRead.
	Read int64
	// Instances is how many may run at once; 0: as many as Go runs threads.
	// More calls wait.
	Instances int
	Grants    Grants
	// Interruption is how calls end that take too long.
	Interruption Interruption
	// Log takes what plugins have to say; nil: nothing.
	Log *slog.Logger
}

// Grants are what a plugin may ask for beyond the bytes that it is given.
type Grants struct {
	// WASI lets it import wasi_snapshot_preview1: no files, no arguments, no
	// environment, clocks that stand still, numbers that are not random. For
	// what compilers put into modules that use none of it.
	WASI bool
	// Keys lets a reader read other objects of the store than the one that it
	// is asked to open.
	Keys bool
}

// Interruption is a way to end a call.
type Interruption int

const (
	Counter Interruption = iota // by the counter, or by wazero where it cannot be
	Runtime                     // by wazero, which asks in each turn of each loop
	Never                       // not at all: for measuring what the others cost, with plugins that are trusted
)

// String returns "counter", "runtime" or "never".
func (i Interruption) String() string { return [...]string{"counter", "runtime", "never"}[i] }

func (o Options) withDefaults() (Options, error) {
	set(&o.Memory, DefaultMemory)
	set(&o.Deadline, DefaultDeadline)
	set(&o.Tables, DefaultTables)
	set(&o.Stack, DefaultStack)
	set(&o.Module, DefaultModule)
	set(&o.Read, DefaultRead)
	set(&o.Work, DefaultWork)
	set(&o.Instances, runtime.GOMAXPROCS(0))
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Memory < pageSize || o.Memory > 4<<30:
		return o, fault.New(fault.ErrInvalid, "plugin", "Memory", "must be from 64 KiB to 4 GiB")
	case o.Deadline < 0, o.Tables < 0, o.Stack < 0, o.Stack > 1<<30, o.Module < 0, o.Read < 0, o.Work < 0, o.Instances < 0, o.Interruption < Counter, o.Interruption > Never:
		return o, fault.New(fault.ErrInvalid, "plugin", "", "an option out of its bounds")
	}
	return o, nil
}

// set gives *v its default.
func set[T comparable](v *T, other T) {
	var zero T
	if *v == zero {
		*v = other
	}
}
