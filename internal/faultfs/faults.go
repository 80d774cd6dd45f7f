// Package faultfs lets things go wrong at the ports of package storage, for
// tests, by plan and the same way each time: the n-th operation fails, does a
// part of its work, comes late, or is the last one of its process; and a Disk
// forgets, when the power is cut, what nobody synced.
//
//	disk := faultfs.NewDisk(0)
//	x := faultfs.New(faultfs.Nth(7, faultfs.Fault{Kill: true}, faultfs.Write))
//	err := work(x.FS(disk))       // dies at its eighth write
//	after := disk.Cut(rand.New(rand.NewPCG(1, 2)))
//	check(after)                  // what there is when the machine is on again
package faultfs

import (
	"errors"
	"io"
	"math"
	"slices"
	"sync"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations, by port.
const (
	Open    Kind = "open" // of an FS: no file is made or emptied
	Create  Kind = "create"
	Stat    Kind = "stat" // of a name or a file
	Rename  Kind = "rename"
	Remove  Kind = "remove"
	Mkdir   Kind = "mkdir"
	List    Kind = "list"
	SyncDir Kind = "syncdir"
	StatFS  Kind = "statfs"

	Read      Kind = "read" // of a File
	Write     Kind = "write"
	Truncate  Kind = "truncate"
	Sync      Kind = "sync"
	Allocate  Kind = "allocate"
	Punch     Kind = "punch"
	Copy      Kind = "copy"
	LockRange Kind = "lockrange"
	Unlock    Kind = "unlock" // and of a Locker
	Close     Kind = "close"

	Lock   Kind = "lock" // of a Locker
	Get    Kind = "get"  // of a Store
	Put    Kind = "put"
	Delete Kind = "delete"
	Fetch  Kind = "fetch" // of a Fetcher
)

// Changes are the kinds after which there is something else than before.
var Changes = []Kind{Create, Rename, Remove, Mkdir, Write, Truncate, Allocate, Punch, Copy, Put, Delete}

// Op is one operation, about to be done.
type Op struct {
	N    int // how many were before it, of all kinds
	Kind Kind
	Name string // of the file, the key, the lock, the URL
	Off  int64
	Len  int64 // bytes; 0 where there are none
}

// Whole is a Fault.Done: all of it.
const Whole = math.MaxInt64

// Fault is what goes wrong with an operation. The zero value is nothing.
type Fault struct {
	// Before is called first, with no lock held: a delay is a Before that
	// waits for the test, and what another process does in between is one too.
	Before func()
	// Err is answered. Of the work only Done is done.
	Err error
	// Done is how many bytes are read, written or copied before Err or Kill;
	// of what has no bytes, anything more than 0 is all: the answer was lost.
	Done int64
	// Short is how many bytes at the end of what was read are missing, as if
	// the file, the object or the body ended there.
	Short int64
	// Late has a write acknowledged, and done after the next change only, of
	// whatever. Nobody sees that of his own files: before they are read,
	// synced or closed, it is done.
	Late bool
	// Kill ends the process: this operation and all later ones are ErrKilled,
	// its files are closed and its locks free.
	Kill bool
}

// Plan says what goes wrong with an operation. It is called for one at a time.
type Plan func(Op) Fault

// Nth is a Plan for the operation that n others of these kinds came before;
// no kinds: of all.
func Nth(n int, what Fault, kinds ...Kind) Plan {
	return func(op Op) Fault {
		if len(kinds) > 0 && !slices.Contains(kinds, op.Kind) {
			return Fault{}
		}
		if n--; n == -1 {
			return what
		}
		return Fault{}
	}
}

// ErrKilled is what a process gets that is not there any more. It is of no
// kind of package fault, so that nobody has an answer to it.
var ErrKilled = errors.New("faultfs: the process was killed")

// Faults are the ports of one process, with what goes wrong at them: adapters
// that it makes share its plan and its count. Safe for concurrent use.
type Faults struct {
	mu   sync.Mutex
	plan Plan
	log  []Op
	dead bool
	late []late
	open map[io.Closer]struct{}
	held map[*hold]struct{}
}

// late is a write to a file that was acknowledged and not done.
type late struct {
	file *file
	do   func()
}

// hold is a lock of the process.
type hold struct{ unlock func() error }

// New returns the ports of a process. plan may be nil: nothing goes wrong, and
// Ops tells what there is that could.
func New(plan Plan) *Faults {
	return &Faults{plan: plan, open: map[io.Closer]struct{}{}, held: map[*hold]struct{}{}}
}

// Ops returns the operations so far, those that failed too.
func (x *Faults) Ops() []Op {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.log)
}

// Dead reports whether the process was killed.
func (x *Faults) Dead() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dead
}

// Kill ends the process now.
func (x *Faults) Kill() {
	x.mu.Lock()
	open, held := x.open, x.held
	x.dead, x.late, x.open, x.held = true, nil, map[io.Closer]struct{}{}, map[*hold]struct{}{}
	x.mu.Unlock()
	for f := range open {
		f.Close()
	}
	for h := range held {
		h.unlock()
	}
}

// next asks the plan about an operation.
func (x *Faults) next(op Op) (Fault, error) {
	x.mu.Lock()
	if x.dead {
		x.mu.Unlock()
		return Fault{}, ErrKilled
	}
	op.N = len(x.log)
	x.log = append(x.log, op)
	var what Fault
	if x.plan != nil {
		what = x.plan(op)
	}
	x.mu.Unlock()
	tally.operations.Add(1)
	switch {
	case what.Kill:
		tally.killed.Add(1)
	case what.Err != nil:
		tally.failures.Add(1)
	}
	if what.Before != nil {
		what.Before()
		if x.Dead() {
			return Fault{}, ErrKilled
		}
	}
	return what, nil
}

// step does an operation as far as the plan lets it: do gets the number of
// bytes to do, which is op.Len if nothing goes wrong. of is the file that it is
// of; nil: none.
func (x *Faults) step(op Op, of *file, do func(n int64) error) error {
	what, err := x.next(op)
	if err != nil {
		return err
	}
	change := slices.Contains(Changes, op.Kind)
	if of != nil && op.Kind != Write {
		x.overdue(of)
	}
	switch {
	case what.Kill || what.Err != nil:
		if what.Done > 0 {
			_ = do(min(what.Done, op.Len))
		}
		if what.Kill {
			x.Kill()
			return ErrKilled
		}
		return what.Err
	case what.Late && op.Kind == Write:
		x.mu.Lock()
		x.late = append(x.late, late{of, func() { _ = do(op.Len) }})
		x.mu.Unlock()
		return nil
	}
	n := op.Len
	if what.Short > 0 {
		n = max(n-what.Short, 0)
	}
	err = do(n)
	if change {
		x.overdue(nil)
	}
	return err
}

// overdue does what is late with a file; nil: with any.
func (x *Faults) overdue(of *file) {
	x.mu.Lock()
	var due []late
	x.late = slices.DeleteFunc(x.late, func(l late) bool {
		if of == nil || l.file == of {
			due = append(due, l)
			return true
		}
		return false
	})
	x.mu.Unlock()
	for _, l := range due {
		l.do()
	}
}

// opened notes a file that ends with the process; false: it has ended.
func (x *Faults) opened(f io.Closer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dead {
		return false
	}
	x.open[f] = struct{}{}
	return true
}

func (x *Faults) shut(f io.Closer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, f)
}
