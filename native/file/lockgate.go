package file

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// gate keeps readers from starving a writer. A writer that has to wait makes
// a file beside the lock, NAME.gate, and holds a lock on it; readers look for
// that file about every millisecond and wait until its lock is free. Nothing
// but fairness rests on it: it is removed by whoever is in it, may be left
// behind by one that was killed, and need not be there at all.
type gate struct{ looked atomic.Int64 }

const (
	gateSuffix   = ".gate"
	gateRecent   = time.Millisecond     // between looks
	gatePatience = 2 * time.Millisecond // until a writer enters
	gateAgain    = 8 * time.Millisecond // until it tries again
)

// recent reports whether the gate was looked at not long before.
func (g *gate) recent(now time.Duration) bool { return int64(now)-g.looked.Load() < int64(gateRecent) }

// pass is what readers do before they ask for the lock.
func (g *gate) pass(ctx context.Context, l *lockFile, now time.Duration) error {
	if g.recent(now) {
		return nil
	}
	g.looked.Store(int64(now))
	f, err := openFlags(l.fs.root, l.name+gateSuffix, storage.OpenRead)
	if err != nil {
		return nil // mostly because there is none
	}
	held, err := l.flock(f, false, false)
	if !held && err == nil {
		err = waitFor(ctx, l.name, func(wait bool) (bool, error) { return l.flock(f, false, wait) }, func() { f.Close() })
	}
	if err == errAbandoned {
		return storage.LockEnded(ctx, l.name)
	}
	f.Close()
	return nil
}

// gateLater is the gate of a writer who waits.
type gateLater struct {
	l *lockFile

	mu    sync.Mutex
	timer *time.Timer
	over  bool
	f     *os.File // nil: not in the gate
}

// enterLater makes readers wait from a while later on, until leave. Where that
// is not possible it does nothing.
func (l *lockFile) enterLater() *gateLater {
	w := &gateLater{l: l}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(gatePatience, w.enter)
	return w
}

func (w *gateLater) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	name := w.l.name + gateSuffix
	f, err := openFlags(w.l.fs.root, name, storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		return
	}
	held, err := w.l.flock(f, true, false)
	if held && leadsTo(w.l.fs.root, name, f) {
		admit(w.l.fs.root, f, name)
		w.f = f
		return
	}
	f.Close()
	if err == nil { // another writer is in it or has just left, or a reader passes
		w.timer.Reset(gateAgain)
	}
}

func (w *gateLater) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.over = true
	if w.f != nil {
		w.l.fs.root.Remove(w.l.name + gateSuffix)
		w.f.Close()
	}
}

// leadsTo reports whether a name still leads to a file.
func leadsTo(root *os.Root, name string, f *os.File) bool {
	now, err := root.Stat(name)
	if err != nil {
		return false
	}
	of, err := f.Stat()
	return err == nil && os.SameFile(now, of)
}
