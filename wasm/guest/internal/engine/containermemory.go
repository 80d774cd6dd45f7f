package engine

import (
	"context"
	"strings"

	"github.com/gridhold/gridhold/sdk/storage"
)

// remember notes that a container was made in the instance's memory, if it was:
// there it lies for as long as the handle that made it is open.
func (e *Engine) remember(o *object, p *containerPlace) *object {
	if p.fs == 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.made == nil {
			e.made = map[string]*object{}
		}
		o.inMemory, e.made[p.name] = p.name, o
	}
	return o
}

// freeMemory gives the memory back, unless another container was made under the
// name since. Who else has it open goes on with it.
func (e *Engine) freeMemory(o *object) error {
	if o.inMemory == "" {
		return nil
	}
	e.mu.Lock()
	files, last := e.files, e.made[o.inMemory] == o
	if last {
		delete(e.made, o.inMemory)
	}
	e.mu.Unlock()
	if !last {
		return nil
	}
	return removeAll(context.Background(), files, o.inMemory)
}

// removeAll removes a file, or a directory with all that is in it.
func removeAll(ctx context.Context, fs storage.FS, name string) error {
	info, err := fs.Stat(ctx, name)
	if err != nil {
		return err
	}
	if info.Dir {
		files, err := fs.List(ctx, name)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := removeAll(ctx, fs, name+"/"+strings.TrimSuffix(file, "/")); err != nil {
				return err
			}
		}
	}
	return fs.Remove(ctx, name)
}
