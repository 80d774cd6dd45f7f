package engine

import (
	"sync"

	"github.com/gridhold/gridhold/wasm/wire"
)

// waiter is one import in flight: its token, and the structs and buffers
// that the token owns. It lives on the heap, which Go never moves.
type waiter struct {
	token uint32     // another one each time it is taken
	done  chan int32 // the completion

	// borrowed says that a buffer of the call is its caller's, who may use
	// it again as soon as the call returns.
	borrowed bool

	// guarded by tokens.mu
	out    bool // the token has not ended
	orphan bool // nobody waits for it

	read  ReadCall
	codec CodecCall
	rare  any // any other call, which it keeps alive
}

// tokens is all waiters. One that is put back is taken again under another
// token: its turn lies above the 16 bits that name its slot, and comes again
// after 32768 turns.
type tokens struct {
	mu      sync.Mutex
	slots   []*waiter
	free    []*waiter
	out     int
	orphans uint32
}

const (
	slotBits  = 16
	mostSlots = 1<<slotBits - 1
	turnMask  = 1<<31 - 1
)

// take returns nil where too many tokens are out. The token is known before
// the import is called, so no completion can come too early.
func (t *tokens) take() *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	var w *waiter
	if n := len(t.free); n > 0 {
		w = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		if len(t.slots) == mostSlots {
			return nil
		}
		w = &waiter{done: make(chan int32, 1)}
		t.slots = append(t.slots, w)
		w.token = uint32(len(t.slots))
	}
	w.out = true
	t.out++
	return w
}

// end takes a token out of those that are out, and says whether anybody
// waits for it; nil for one that is not out.
func (t *tokens) end(token uint32) (w *waiter, orphan bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := int(token&mostSlots) - 1
	if i < 0 || i >= len(t.slots) || t.slots[i].token != token || !t.slots[i].out {
		return nil, false
	}
	w = t.slots[i]
	w.out = false
	t.out--
	if w.orphan {
		t.orphans--
	}
	return w, w.orphan
}

// leave makes a token an orphan.
func (t *tokens) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.orphan = true
	t.orphans++
}

// put gives a waiter back, unless a busy host still owns it.
func (t *tokens) put(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.out {
		if w.orphan {
			return
		}
		w.out = false
		t.out--
	}
	w.token = (w.token + 1<<slotBits) & turnMask
	w.borrowed, w.orphan = false, false
	w.read.reset()
	w.codec, w.rare = CodecCall{}, nil
	t.free = append(t.free, w)
}

// counts returns how many tokens are out, and how many of them are orphans.
func (t *tokens) counts() (out int, orphans uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out, t.orphans
}

// complete hands in one completion. One for an unknown token is ignored.
func (e *Engine) complete(c wire.Completion) {
	w, orphan := e.tokens.end(c.Token)
	switch {
	case w == nil:
	case orphan:
		e.tokens.put(w)
	default:
		w.done <- c.N
	}
}
