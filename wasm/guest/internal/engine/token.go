package engine

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// waiter is one import in flight: its token, and the structs and buffers
// that the token owns. It lives on the heap, which Go never moves.
type waiter struct {
	token  uint32
	done   chan int32 // the completion
	orphan bool       // nobody waits; guarded by Engine.mu

	// borrowed says that a buffer of the call is its caller's, who may use
	// it again as soon as the call returns.
	borrowed bool

	read      ReadCall
	list      ListCall
	fetch     FetchCall
	codec     CodecCall
	codecOpen CodecOpenCall
}

var waiters = sync.Pool{New: func() any { return &waiter{done: make(chan int32, 1)} }}

// take makes a waiter with a token of its own. The token is in the table
// before the import is called, so no completion can come too early.
func (e *Engine) take() (*waiter, error) {
	w := waiters.Get().(*waiter)
	w.token = e.tokens.Put(w)
	if w.token == 0 {
		waiters.Put(w)
		return nil, fault.New(fault.ErrLimit, "host", "", "too many imports in flight")
	}
	return w, nil
}

// release gives a waiter back, unless a busy host still owns it.
func (e *Engine) release(w *waiter) {
	e.mu.Lock()
	orphan := w.orphan
	e.mu.Unlock()
	if orphan {
		return
	}
	e.tokens.Remove(w.token)
	w.recycle()
}

func (w *waiter) recycle() {
	w.orphan, w.borrowed = false, false
	w.read.reset()
	w.list, w.fetch, w.codec, w.codecOpen = ListCall{}, FetchCall{}, CodecCall{}, CodecOpenCall{}
	waiters.Put(w)
}

// settle returns what an import ended with: n, or the completion if n says
// that it is yet to come. err is the end of ctx.
func (e *Engine) settle(ctx context.Context, w *waiter, n int32) (int32, error) {
	if n != wire.Pending {
		return n, nil
	}
	select {
	case n = <-w.done:
		return n, nil
	case <-ctx.Done():
	}
	select {
	case n = <-w.done: // it came before the cancellation took effect
		return n, nil
	default:
	}
	if e.host.Cancel(w.token) == wire.Released {
		return 0, ctx.Err()
	}
	if w.borrowed {
		// Another thread may be writing into memory of the caller's, which
		// must not have it back before; the operation need not wait.
		e.leave(operationOf(ctx), ctx.Err())
		<-w.done
		return 0, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w.orphan = true
	e.orphans++
	return 0, ctx.Err()
}

// complete hands in one completion. One for an unknown token is ignored.
func (e *Engine) complete(c wire.Completion) {
	w, ok := e.tokens.Remove(c.Token)
	if !ok {
		return
	}
	e.mu.Lock()
	orphan := w.orphan
	if orphan {
		e.orphans--
	}
	e.mu.Unlock()
	if orphan {
		w.recycle()
		return
	}
	n := c.N
	if n == wire.Pending {
		n = int32(fault.CodeInvalid)
	}
	w.done <- n
}

// failure makes the error of a code that a host answered for w, asking for
// its detail. item is what was asked for.
func (e *Engine) failure(w *waiter, n int32, format, item string) error {
	code := fault.Code(n)
	switch code {
	case fault.CodeNotFound, fault.CodeStale: // frequent, and the code says all
		return fault.New(fault.Of(code), format, item, "")
	case fault.CodeTooSmall:
		return fault.New(fault.ErrIO, format, item, "the host asks for ever more room")
	}
	into := make([]byte, 2048)
	if m := e.host.ErrorDetail(w.token, into); m > 0 && int(m) <= len(into) {
		var d fault.Detail
		if json.Unmarshal(into[:m], &d) == nil && d.Text != "" {
			d.Code = fault.CodeOf(fault.Of(code))
			return d.Err()
		}
	}
	return fault.New(fault.Of(code), format, item, "")
}

// invalid is the error of an answer that breaks the contract.
func invalid(format, item, why string) error {
	return fault.New(fault.ErrInvalid, format, item, "the host answered "+why)
}
