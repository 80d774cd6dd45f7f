package engine

import (
	"context"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Operation is one call of the host's, and the context under which it runs:
// making a derived context costs more than a read that is answered at once.
type Operation struct {
	// Result is what the host reads; it stays where it is until Drop.
	Result wire.Result

	id      uint32
	request request
	bytes   []byte // keeps Result.Ptr alive
	detail  []byte // keeps Result.DetailPtr alive
	buffer  *buffers

	mu      sync.Mutex
	ended   bool // Result is final
	dropped bool
	inPlace bool // run by callAtOnce, which lists it itself
	err     error
	done    chan struct{}
	after   []*afterFunc
}

type afterFunc struct{ f func() }

type operationKey struct{}

// operationOf returns the operation that ctx belongs to, nil for none.
func operationOf(ctx context.Context) *Operation {
	op, _ := ctx.Value(operationKey{}).(*Operation)
	return op
}

// Deadline is Context's. Deadlines are the host's: it cancels.
func (*Operation) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is Context's. The channel is made when it is first asked for.
func (o *Operation) Done() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = make(chan struct{})
		if o.err != nil {
			close(o.done)
		}
	}
	return o.done
}

// Err is Context's.
func (o *Operation) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Value is Context's: the operation itself, under a key of this package.
func (o *Operation) Value(key any) any {
	if key == (operationKey{}) {
		return o
	}
	return nil
}

// AfterFunc lets package context derive contexts without a goroutine each.
func (o *Operation) AfterFunc(f func()) (stop func() bool) {
	a := &afterFunc{f}
	o.mu.Lock()
	cancelled := o.err != nil
	if !cancelled {
		o.after = append(o.after, a)
	}
	o.mu.Unlock()
	if cancelled {
		f()
	}
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i, x := range o.after {
			if x == a {
				o.after = append(o.after[:i], o.after[i+1:]...)
				return true
			}
		}
		return false
	}
}

// cancel ends the context.
func (o *Operation) cancel() {
	o.mu.Lock()
	var after []*afterFunc
	if o.err == nil {
		o.err = context.Canceled
		if o.done != nil {
			close(o.done)
		}
		after, o.after = o.after, nil
	}
	o.mu.Unlock()
	for _, a := range after {
		a.f()
	}
}

// Start is gh_start: it reads the request to its end and sets the operation
// going. It returns its id, or a code below zero.
func (e *Engine) Start(kind uint32, req []byte) int32 {
	op, code := e.prepare(kind, req)
	if code < 0 {
		return int32(code)
	}
	e.work(op)
	return int32(op.id)
}

// prepare makes an operation that is live, and not running yet.
func (e *Engine) prepare(kind uint32, req []byte) (*Operation, fault.Code) {
	op := &Operation{}
	op.Result.State = wire.Running
	if code := e.parse(&op.request, kind, req); code < 0 {
		return nil, code
	}
	if op.id = e.ops.Put(op); op.id == 0 {
		return nil, fault.CodeLimit
	}
	e.live.Add(1)
	return op, 0
}

// end makes the result final, once: later answers are dropped.
func (e *Engine) end(op *Operation, a answer, err error, panicked bool) {
	op.mu.Lock()
	if op.ended {
		op.mu.Unlock()
		return
	}
	op.ended = true
	dropped := op.dropped
	r := &op.Result
	switch {
	case err != nil:
		d := fault.DetailOf(err)
		op.detail = rawjson.Marshal(d)
		r.State, r.Code = wire.Failed, int32(d.Code)
		r.DetailPtr, r.DetailLen = e.host.Address(op.detail), uint32(len(op.detail))
		if panicked {
			r.State = wire.Panicked
		}
	default:
		e.gate.pin(int64(len(a.bytes)))
		op.bytes, op.buffer = a.bytes, a.from
		r.Kind, r.Ptr, r.Len = a.kind, e.host.Address(a.bytes), uint32(len(a.bytes))
		r.Object, r.Off, r.Length = a.object, a.off, a.length
		r.State = wire.OK
	}
	op.mu.Unlock()
	e.live.Add(-1)
	if panicked {
		e.panics.Add(1)
	}
	switch {
	case dropped:
		e.forget(op)
	case !op.inPlace:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.ended = append(e.ended, op.id)
	}
}

// leave ends an operation whose goroutine has to stay a while, because a
// host's thread may still write into memory that the goroutine's callers
// own.
func (e *Engine) leave(op *Operation, err error) {
	if op == nil {
		return
	}
	e.end(op, answer{}, err, false)
}

// Cancel is gh_cancel. The mark takes effect in the next Run.
func (e *Engine) Cancel(id uint32) int32 {
	if _, ok := e.ops.Get(id); !ok {
		return int32(fault.CodeInvalid)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.marked = append(e.marked, id)
	return 0
}

// Ended is gh_result: nil while the operation runs, and for one that is not
// known.
func (e *Engine) Ended(id uint32) *wire.Result {
	op, ok := e.ops.Get(id)
	if !ok {
		return nil
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	if !op.ended {
		return nil
	}
	return &op.Result
}

// unwanted reports whether the host has dropped it.
func (o *Operation) unwanted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// Drop is gh_drop.
func (e *Engine) Drop(id uint32) {
	op, ok := e.ops.Get(id)
	if !ok {
		return
	}
	op.mu.Lock()
	ended := op.ended
	op.dropped = true
	op.mu.Unlock()
	if ended {
		e.forget(op)
		return
	}
	e.Cancel(id)
}

// forget lets go of a result. It runs once for each operation: after its end
// and its drop.
func (e *Engine) forget(op *Operation) {
	if _, ok := e.ops.Remove(op.id); !ok {
		return
	}
	e.gate.unpin(int64(op.Result.Len))
	if op.buffer != nil {
		op.buffer.put(op.bytes)
	}
	op.bytes, op.detail = nil, nil
}
