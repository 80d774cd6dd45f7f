package file

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// ask asks the system for what h has within this process already. errGivenUp:
// the opening is of no use any more.
func (l *lockFile) ask(ctx context.Context, h *hold) error {
	o := h.o
	if got, err := l.atOnce(h); got || err != nil {
		return err
	}
	select {
	case o.turn <- struct{}{}: // first: a lock that is free is had, however late it is
	default:
		select {
		case o.turn <- struct{}{}:
		case <-o.dead:
			return errGivenUp
		case <-ctx.Done():
			return storage.LockEnded(ctx, l.name)
		}
	}
	o.setAsking(true)
	var err error
	if h.exclusive {
		err = l.await(ctx, o, true)
	} else {
		err = l.askShared(ctx, o)
	}
	h.at = time.Since(started)
	if err != errAbandoned { // nobody has a use for this opening then
		o.setAsking(false)
		<-o.turn
		return err
	}
	l.giveUp(o)
	return storage.LockEnded(ctx, l.name)
}

var (
	errGivenUp   = errors.New("given up")
	errAbandoned = errors.New("abandoned")
)

// atOnce is ask for where that takes no waiting, not even for a turn.
func (l *lockFile) atOnce(h *hold) (got bool, err error) {
	o := h.o
	passed := h.exclusive || l.gate.recent(h.at)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !h.exclusive && o.join(h.at, h.ticket.Again()):
		return true, nil
	case !o.raw || o.asking || o.shared > 0 || !passed:
		return false, nil
	}
	got, err = rawLock(o.fd, h.exclusive)
	if got && !h.exclusive {
		o.shared, o.since = 1, h.at
	}
	return got, lockFailure(l.name, err)
}

// join joins those of this opening who hold the lock shared, unless they have
// had it for so long that somebody elsewhere may be waiting for them: then all
// but one who is among them (again) wait until they are gone. It needs mu.
func (o *opening) join(now time.Duration, again bool) bool {
	if o.shared == 0 || !again && now-o.since >= turnover {
		return false
	}
	o.shared++
	return true
}

func (o *opening) setAsking(is bool) {
	o.mu.Lock()
	o.asking = is
	o.mu.Unlock()
}

// askShared is ask for a reader who has the turn.
func (l *lockFile) askShared(ctx context.Context, o *opening) error {
	now := time.Since(started)
	o.mu.Lock()
	if o.join(now, false) {
		o.mu.Unlock()
		return nil
	}
	var drained chan struct{}
	if o.shared > 0 {
		if o.drained == nil {
			o.drained = make(chan struct{})
		}
		drained = o.drained
	}
	o.mu.Unlock()
	if drained != nil {
		select {
		case <-drained:
		case <-ctx.Done():
			return storage.LockEnded(ctx, l.name)
		}
	}
	if err := l.gate.pass(ctx, l, now); err != nil {
		return err
	}
	if err := l.await(ctx, o, false); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shared, o.since = 1, time.Since(started)
	return nil
}

// leaveShared gives the system's lock back when the last reader leaves.
func (o *opening) leaveShared() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shared--; o.shared > 0 {
		return nil
	}
	if o.drained != nil {
		close(o.drained)
		o.drained = nil
	}
	return o.unlock()
}

// await waits for the system's lock. A wait that the system does not let us
// end goes on without us when ctx ends: whoever is left behind gives the lock
// back as soon as he has it. That is errAbandoned.
func (l *lockFile) await(ctx context.Context, o *opening, exclusive bool) error {
	if held, err := l.try(o, exclusive); held || err != nil {
		return lockFailure(l.name, err)
	}
	if exclusive { // readers make way for one who has waited a while
		defer l.enterLater().leave()
		if held, err := l.nap(ctx, o); held || err != nil {
			return err
		}
	}
	if ctx.Done() == nil {
		_, err := l.flock(o.File, exclusive, true)
		return lockFailure(l.name, err)
	}
	o.users.Add(1)
	err := waitFor(ctx, l.name, func(wait bool) (bool, error) { return l.flock(o.File, exclusive, wait) }, func() {
		unflock(o.File)
		o.leave()
	})
	if err != errAbandoned {
		o.leave()
	}
	return err
}

const (
	leastNap = 64 * time.Microsecond // doubled each time
	mostNap  = 512 * time.Microsecond
	napping  = 16 * time.Millisecond // all of them
)

// nap waits for a lock that writers have by trying now and then, for a while.
// Who waits in the kernel is woken each time that a writer frees the lock,
// finds that the same one has it again, and sleeps: with writers that write
// one batch after another that was a quarter of the time of each.
func (l *lockFile) nap(ctx context.Context, o *opening) (held bool, err error) {
	if !o.raw {
		return false, nil
	}
	var timer *time.Timer
	for pause, begun := leastNap, time.Since(started); time.Since(started)-begun < napping; pause = min(2*pause, mostNap) {
		// Readers come and go, and one of them may always be there: whom they keep
		// out is in the kernel when the last of them leaves.
		if read, err := rawLock(o.fd, false); err != nil {
			return false, lockFailure(l.name, err)
		} else if read {
			return false, failure(l.name, rawUnlock(o.fd))
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false, storage.LockEnded(ctx, l.name)
		}
		if held, err := rawLock(o.fd, true); held || err != nil {
			return held, lockFailure(l.name, err)
		}
	}
	return false, nil
}

// leftBehind counts the waits that go on although nobody wants them. Each has
// a thread, so with many of them others ask again and again instead.
var leftBehind atomic.Int64

const mostLeftBehind = 16

// waitFor waits for a lock until ctx ends: errAbandoned if the wait goes on
// then, at the end of which release is called.
func waitFor(ctx context.Context, name string, lock func(wait bool) (bool, error), release func()) error {
	if leftBehind.Load() >= mostLeftBehind {
		return poll(ctx, name, lock)
	}
	var decided atomic.Bool // who comes second, the lock or the end of ctx, has to see to it
	result := make(chan error, 1)
	go func() {
		_, err := lock(true)
		if decided.Swap(true) {
			leftBehind.Add(-1)
			release()
			return
		}
		result <- lockFailure(name, err)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	leftBehind.Add(1)
	if decided.Swap(true) {
		leftBehind.Add(-1)
		return <-result
	}
	return errAbandoned
}

// poll asks about every 1 to 25 ms.
func poll(ctx context.Context, name string, lock func(wait bool) (bool, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		if held, err := lock(false); held || err != nil {
			return lockFailure(name, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return storage.LockEnded(ctx, name)
		case <-timer.C:
		}
	}
}

// lockFailure tells a file system without locks from other failures.
func lockFailure(name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errors.ErrUnsupported) || noLocks(err) {
		return fault.New(fault.ErrUnsupported, "lock", name, "the file system cannot lock ("+err.Error()+"); open without locking if nobody else writes")
	}
	return failure(name, err)
}
