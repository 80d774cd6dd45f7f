package engine

import (
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// maxIdle workers are kept: their stacks have grown to what a read needs.
const maxIdle = 16

// worker is a goroutine that runs operations, one after another.
type worker struct{ next chan *Operation }

// work hands op to an idle worker, or to a new one.
func (e *Engine) work(op *Operation) {
	e.mu.Lock()
	if n := len(e.idle); n > 0 {
		w := e.idle[n-1]
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		w.next <- op
		return
	}
	e.mu.Unlock()
	w := &worker{next: make(chan *Operation, 1)}
	w.next <- op
	// run recovers for itself, so that the worker outlives it; what is left
	// to die of here is a fault of this package.
	fault.Go(func() { e.serve(w) }, func(err error) { e.host.Log(LogError, err.Error()) })
}

func (e *Engine) serve(w *worker) {
	for op := range w.next {
		e.run(op)
		e.mu.Lock()
		keep := len(e.idle) < maxIdle
		if keep {
			e.idle = append(e.idle, w)
		}
		e.mu.Unlock()
		if !keep {
			return
		}
	}
}

// run carries out one operation and makes its result final.
func (e *Engine) run(op *Operation) {
	q := &op.request
	if q.kind == wire.KindContainerRead || q.kind == wire.KindContainerWrite {
		q.weighContainer()
	}
	weight := q.weight
	if q.urgent {
		weight = 0
	}
	weight, err := e.gate.enter(op, weight)
	if err != nil {
		e.end(op, answer{}, err, false)
		return
	}
	defer e.gate.leave(weight)
	defer func() {
		if p := recover(); p != nil {
			e.end(op, answer{}, fault.Recovered(p), true)
		}
	}()
	a, err := e.do(op, q)
	if err == nil && a.object != 0 && a.kind != wire.Located && op.unwanted() {
		// Nobody will ever know the handle, which may hold a lock.
		_, err = e.close(a.object)
		a = answer{}
	}
	e.end(op, a, err, false)
}
