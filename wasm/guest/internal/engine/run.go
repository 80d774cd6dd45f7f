package engine

import (
	"runtime"
	"time"

	"github.com/gridhold/gridhold/wasm/wire"
)

const (
	rest      = 100 * time.Microsecond
	restTimes = 100
)

func yield() { runtime.Gosched() }

// Run is gh_run: it hands in the completions that lie in CQ, lets goroutines
// run, and lists the operations that ended. budget 0: no limit.
func (e *Engine) Run(completions uint32, budget time.Duration) uint32 {
	if e.running.Swap(true) {
		return wire.Reentered
	}
	defer e.running.Store(false)
	e.timed.Store(budget > 0)
	for _, c := range e.CQ[:min(completions, cqCap)] {
		e.complete(c)
	}
	e.cancelMarked()
	status := e.loop(budget)
	if e.report() {
		status = wire.More
	}
	return status
}

// loop lets goroutines run until none can. Two zeros of the runtime's count
// in a row mean that all are parked: the first may fall into the moment in
// which one goroutine wakes another.
func (e *Engine) loop(budget time.Duration) uint32 {
	var start time.Time
	if budget > 0 {
		start = time.Now()
	}
	for zeros, rests := 0, 0; ; {
		yield()
		live, waiting := e.live.Load(), e.waiting()
		if live == 0 && waiting == 0 {
			return wire.Idle // what may still run then is nobody's operation
		}
		if e.host.Runnable() > 0 {
			zeros, rests = 0, 0
			if budget > 0 && time.Since(start) >= budget {
				return wire.More
			}
			continue
		}
		zeros++
		if zeros < 2 {
			continue
		}
		if live == 0 || e.waiting() > 0 {
			return wire.Idle
		}
		if rests == restTimes {
			return wire.Stalled
		}
		rests++
		pause()
	}
}

// pause lets a moment pass for what no count shows: the runtime's own work.
// It is bounded in turns too, because a host's clock may stand still.
func pause() {
	start := time.Now()
	for range 10_000 {
		if time.Since(start) >= rest {
			return
		}
	}
}

func (e *Engine) waiting() int {
	out, _ := e.tokens.counts()
	return out
}

func (e *Engine) cancelMarked() {
	e.mu.Lock()
	marked := e.marked
	e.marked = nil
	e.mu.Unlock()
	for _, id := range marked {
		if op, ok := e.ops.Get(id); ok {
			op.cancel()
		}
	}
}

// report fills in the mailbox; more says that not all ended operations found
// room.
func (e *Engine) report() (more bool) {
	live := e.live.Load()
	waiting, orphans := e.tokens.counts()
	e.mu.Lock()
	defer e.mu.Unlock()
	n := copy(e.Done[:], e.ended)
	rest := copy(e.ended, e.ended[n:])
	e.ended = e.ended[:rest]
	b := &e.Box
	b.Done, b.Live, b.Waiting = uint32(n), uint32(live), uint32(waiting)
	b.Panics, b.Orphans = e.panics.Load(), orphans
	return rest > 0
}

// Call is gh_call.
func (e *Engine) Call(kind uint32, req []byte) (op int32, result *wire.Result) {
	if e.running.Load() {
		e.Box.Status = wire.Reentered
		return 0, nil
	}
	if e.atOnce {
		return e.callAtOnce(kind, req)
	}
	op = e.Start(kind, req)
	if op < 0 {
		e.Box.Status = wire.Idle
		return op, nil
	}
	e.Box.Status = e.Run(0, 0)
	return op, e.Ended(uint32(op))
}

// callAtOnce runs an operation on the goroutine of the call, which saves
// handing it over and finding out when all is done: with imports that answer
// at once, nothing is left to wait for when it has ended.
func (e *Engine) callAtOnce(kind uint32, req []byte) (id int32, result *wire.Result) {
	e.running.Store(true)
	defer e.running.Store(false)
	op, code := e.prepare(kind, req)
	if code < 0 {
		return int32(code), nil
	}
	op.inPlace = true
	e.run(op)
	b := &e.Box
	b.Status, b.Live, b.Panics = wire.Idle, uint32(e.live.Load()), e.panics.Load()
	b.Done, e.Done[0] = 1, op.id
	return int32(op.id), &op.Result
}
