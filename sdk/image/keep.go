package image

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Kept is a provider that keeps files open. Safe for concurrent use.
type Kept struct {
	backing ReaderProvider
	most    int

	mu      sync.Mutex
	entries map[string]*keptEntry
	order   *list.List // of *keptEntry, the one used last in front
	closed  bool
}

// keptEntry is a file that is open or being opened. Guarded by the lock of
// its Kept, but for reader and opened, which do not change once ready is
// closed.
type keptEntry struct {
	key    string
	ready  chan struct{} // closed when reader is there, or when opening failed
	reader Reader        // nil: it failed
	opened storage.FileInfo
	users  int
	place  *list.Element // nil once it is out of the map: the last user closes it
}

// KeepOpen returns a provider that keeps up to most files of another open,
// those that were used last, and opens a file once for all who use it at a
// time. Files in use are never closed: there are more than most if more are
// in use at once.
//
// A kept file whose name leads to another one now, or that has another size
// or time of change, is opened anew; that is noticed when it is opened, not
// between reads, and only where the other provider is a Stater.
func KeepOpen(files ReaderProvider, most int) *Kept {
	return &Kept{backing: files, most: max(most, 1), entries: map[string]*keptEntry{}, order: list.New()}
}

// Open is ReaderProvider's.
func (k *Kept) Open(ctx context.Context, key string) (Reader, error) {
	for {
		e, mine, err := k.enter(key)
		if err != nil {
			return nil, err
		}
		if mine {
			return k.open(ctx, e)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, errors.Join(storage.Ended(ctx, key), k.leave(e))
		}
		if e.reader == nil || k.changed(ctx, e) { // whoever comes first tries in turn
			if err := k.drop(e); err != nil {
				return nil, err
			}
			continue
		}
		return k.handle(e), nil
	}
}

// Stat is Stater's: ErrUnsupported where the other provider has none.
func (k *Kept) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	if s, ok := k.backing.(Stater); ok {
		return s.Stat(ctx, key)
	}
	return storage.FileInfo{}, fault.New(fault.ErrUnsupported, "image", key, "its provider cannot look at it")
}

// Close closes the files that nobody uses, the others when they are no longer
// used. Open is ErrClosed from then on. Closing twice is fine.
func (k *Kept) Close() error {
	k.mu.Lock()
	k.closed = true
	idle := k.shrink(0)
	k.mu.Unlock()
	return closeAll(idle)
}

// enter finds the entry of a key, or makes one, which is then the caller's to
// open. The caller counts as a user.
func (k *Kept) enter(key string) (e *keptEntry, mine bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, false, fault.New(fault.ErrClosed, "image", key, "")
	}
	if e = k.entries[key]; e == nil {
		e, mine = &keptEntry{key: key, ready: make(chan struct{})}, true
		e.place = k.order.PushFront(e)
		k.entries[key] = e
	}
	k.order.MoveToFront(e.place)
	e.users++
	return e, mine, nil
}

func (k *Kept) open(ctx context.Context, e *keptEntry) (r Reader, err error) {
	defer close(e.ready)
	k.mu.Lock()
	idle := k.shrink(k.most) // before, so that there is room for this one
	k.mu.Unlock()
	err = closeAll(idle)
	if err == nil {
		r, err = k.backing.Open(ctx, e.key)
	}
	if err != nil {
		return nil, errors.Join(err, k.drop(e))
	}
	if f, ok := r.(FileReader); ok {
		if e.opened, err = f.File().Stat(); err != nil {
			return nil, errors.Join(err, r.Close(), k.drop(e))
		}
	}
	e.reader = r
	return k.handle(e), nil
}

// changed reports whether the name leads to other bytes than the open file. A
// name that leads nowhere now does not take the open file away.
func (k *Kept) changed(ctx context.Context, e *keptEntry) bool {
	s, ok := k.backing.(Stater)
	if _, file := e.reader.(FileReader); !ok || !file {
		return false
	}
	now, err := s.Stat(ctx, e.key)
	was := e.opened
	return err == nil && (now.Dev != was.Dev || now.Ino != was.Ino || now.Size != was.Size ||
		!now.ModTime.Equal(was.ModTime) || !now.ChangeTime.Equal(was.ChangeTime))
}

// leave ends one use.
func (k *Kept) leave(e *keptEntry) error {
	k.mu.Lock()
	e.users--
	var idle []Reader
	switch {
	case e.place == nil && e.users == 0 && e.reader != nil:
		idle = []Reader{e.reader}
	case k.closed:
		idle = k.shrink(0)
	default:
		idle = k.shrink(k.most)
	}
	k.mu.Unlock()
	return closeAll(idle)
}

// drop takes an entry out, so that the next to come opens the file anew, and
// ends one use of it.
func (k *Kept) drop(e *keptEntry) error {
	k.mu.Lock()
	k.remove(e)
	k.mu.Unlock()
	return k.leave(e)
}

func (k *Kept) remove(e *keptEntry) {
	if e.place != nil {
		k.order.Remove(e.place)
		e.place = nil
		delete(k.entries, e.key)
	}
}

// shrink takes the files out that were not used for longest until most are
// left, or all are in use. They are the caller's to close, without the lock.
func (k *Kept) shrink(most int) (idle []Reader) {
	for p := k.order.Back(); p != nil && len(k.entries) > most; {
		e := p.Value.(*keptEntry)
		p = p.Prev()
		if e.users == 0 {
			k.remove(e)
			idle = append(idle, e.reader)
		}
	}
	return idle
}

func closeAll(readers []Reader) (err error) {
	for _, r := range readers {
		err = errors.Join(err, r.Close())
	}
	return err
}

func (k *Kept) handle(e *keptEntry) Reader {
	h := &keptReader{e.reader, k, e, sync.OnceValue(func() error { return k.leave(e) })}
	if f, ok := e.reader.(FileReader); ok {
		return keptFile{h, f}
	}
	return h
}

// keptReader is one use of a kept file.
type keptReader struct {
	Reader
	kept  *Kept
	entry *keptEntry
	close func() error
}

// ReadImages is Reader's. What is stale is not handed out again.
func (h *keptReader) ReadImages(ctx context.Context, dst []byte, first int64) error {
	err := h.Reader.ReadImages(ctx, dst, first)
	if errors.Is(err, fault.ErrStale) {
		h.kept.mu.Lock()
		h.kept.remove(h.entry)
		h.kept.mu.Unlock()
	}
	return err
}

func (h *keptReader) Close() error { return h.close() }

type keptFile struct {
	*keptReader
	file FileReader
}

func (h keptFile) File() storage.File                        { return h.file.File() }
func (h keptFile) Span(first, n int64) (storage.Range, bool) { return h.file.Span(first, n) }
