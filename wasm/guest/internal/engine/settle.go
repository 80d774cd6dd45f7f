package engine

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// take makes a waiter. Whoever takes it puts it back into e.tokens.
func (e *Engine) take() (*waiter, error) {
	w := e.tokens.take()
	if w == nil {
		return nil, fault.New(fault.ErrLimit, "host", "", "too many imports in flight")
	}
	return w, nil
}

// settle returns what an import ended with: n, or the completion if n says
// that it is yet to come. err is the end of ctx.
func (e *Engine) settle(ctx context.Context, w *waiter, n int32) (int32, error) {
	if n != wire.Pending {
		return n, nil
	}
	if e.atOnce {
		return int32(fault.CodeInvalid), nil // waiting would be for ever
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
		e.tokens.end(w.token)
		return 0, ctx.Err()
	}
	if w.borrowed {
		// Another thread may be writing into memory of the caller's, which
		// must not have it back before; the operation need not wait.
		e.leave(operationOf(ctx), ctx.Err())
		<-w.done
		return 0, ctx.Err()
	}
	e.tokens.leave(w)
	return 0, ctx.Err()
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
		if d, ok := fault.ParseDetail(into[:m]); ok {
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
