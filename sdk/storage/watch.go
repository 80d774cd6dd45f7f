package storage

import "context"

// Watcher is an optional power of an FS: to tell when a file changes.
type Watcher interface {
	// Watch watches the file of a name, which need not be there, from now on.
	// ErrUnsupported where the system does not tell, or has no room for more
	// watches.
	Watch(ctx context.Context, name string) (Watch, error)
}

// Watch is a file that is watched. One call of Wait at a time.
type Watch interface {
	// Wait returns when the file was written to, or another took its name,
	// since Watch or the last Wait. It may return for less.
	Wait(ctx context.Context) error
	Close() error
}
