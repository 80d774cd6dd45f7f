package file

import (
	"context"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// gate keeps readers from starving a writer. A writer that has to wait makes
// a file beside the lock, NAME.gate, and holds a lock on it; readers look for
// that file about every millisecond and wait until its lock is free. Nothing
// but fairness rests on it: it is removed by whoever made it, may be left
// behind by one that was killed, and need not be there at all.
type gate struct {
	mu     sync.Mutex
	looked time.Time
}

const (
	gateSuffix = ".gate"
	gateRecent = time.Millisecond
)

// pass is what readers do before they ask for the lock.
func (g *gate) pass(ctx context.Context, l *lockFile, now time.Time) error {
	g.mu.Lock()
	recent := now.Sub(g.looked) < gateRecent
	if !recent {
		g.looked = now
	}
	g.mu.Unlock()
	if recent {
		return nil
	}
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

// enter makes readers wait, until leave. Where that is not possible, they do
// not.
func (g *gate) enter(ctx context.Context, l *lockFile) (leave func(), err error) {
	name := l.name + gateSuffix
	f, err := openFlags(l.fs.root, name, storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		return func() {}, nil
	}
	// Another writer may be in it already; then it is his, and it does for us.
	held, err := l.flock(f, true, false)
	if !held || err != nil {
		f.Close()
		return func() {}, nil
	}
	return func() {
		l.fs.root.Remove(name)
		f.Close()
	}, nil
}
