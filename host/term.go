package host

import (
	"context"
	"sync"
	"time"
)

// term is a context that ends with its parent, or after a time. It costs next
// to nothing until something waits for it: most reads end before that.
type term struct {
	context.Context
	wait time.Duration // what it lasts once something waits for it; 0: until at
	at   time.Time

	mu    sync.Mutex
	done  chan struct{}
	close func() // done, once
	stops [2]func() bool
	over  bool
}

// until is a context that ends at a time.
func until(parent context.Context, at time.Time) *term {
	return &term{Context: parent, at: at}
}

// patiently is a context that ends some time after something begins to wait
// for it: who need not wait is never too late.
func patiently(parent context.Context, limit time.Duration) *term {
	return &term{Context: parent, wait: limit}
}

// Deadline is context.Context's.
func (t *term) Deadline() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.Context.Deadline()
	if t.at.IsZero() || ok && d.Before(t.at) {
		return d, ok
	}
	return t.at, true
}

// Err is context.Context's.
func (t *term) Err() error {
	if err := t.Context.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.at.IsZero() && !time.Now().Before(t.at):
		return context.DeadlineExceeded
	case t.over:
		return context.Canceled
	}
	return nil
}

// Done is context.Context's.
func (t *term) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done != nil {
		return t.done
	}
	done := make(chan struct{})
	t.done, t.close = done, sync.OnceFunc(func() { close(done) })
	if t.over {
		t.close()
		return done
	}
	if t.wait > 0 {
		t.at = time.Now().Add(t.wait)
	}
	t.stops = [2]func() bool{time.AfterFunc(time.Until(t.at), t.close).Stop, context.AfterFunc(t.Context, t.close)}
	return done
}

// end ends it for whoever still waits.
func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.done != nil {
		for _, stop := range t.stops {
			if stop != nil {
				stop()
			}
		}
		t.close()
	}
}
