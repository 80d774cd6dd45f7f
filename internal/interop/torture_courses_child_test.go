package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// getter is a store of any kind, or a snapshot of one.
type getter interface {
	Get(ctx context.Context, key string) (blosc2.Container, error)
	Keys(ctx context.Context) ([]string, error)
}

// steps does some operations of a course.
func (w *worker) steps(steps []step) error {
	for _, s := range steps {
		q := task{Do: "put", Key: s.Key, Size: &s.Size}
		if s.Size < 0 {
			q.Do = "drop"
		}
		if _, err := w.keyed(&q, s.Value); err != nil {
			return fmt.Errorf("%s %s: %w", q.Do, s.Key, err)
		}
	}
	return nil
}

// survey tells what lies under keys: the value, absent, failed or mixed. Kind
// is how: "" is one after the other; "snapshot", "held" and "packed", which is
// a zip of a snapshot, are of one moment. Of a snapshot that python-blosc2
// wrote over it tells nothing but that, as Changed.
func (w *worker) survey(q *task) (a report, err error) {
	if q.Kind == "snapshot" || q.Kind == "packed" {
		defer func() {
			if errors.Is(err, fault.ErrStale) {
				a, err = report{Changed: true}, nil
			}
		}()
	}
	look := func(ctx context.Context, s getter) error {
		for _, key := range q.Names {
			v, err := valueUnder(ctx, s, key)
			if errors.Is(err, fault.ErrStale) {
				return err
			}
			if err != nil {
				a.Errors, a.Text = a.Errors+1, fmt.Sprintf("%s: %v", key, err)
			}
			a.Data = append(a.Data, words(v)...)
		}
		return nil
	}
	switch q.Kind {
	case "held":
		switch c := w.c.(type) {
		case *blosc2.DictStore:
			err = c.HoldingSharedLock(w.ctx, func(ctx context.Context, s *blosc2.DictStore) error { return look(ctx, s) })
		case *blosc2.TreeStore:
			err = c.HoldingSharedLock(w.ctx, func(ctx context.Context, s *blosc2.TreeStore) error { return look(ctx, s) })
		case *blosc2.EmbedStore:
			err = c.HoldingSharedLock(w.ctx, func(ctx context.Context, s *blosc2.EmbedStore) error { return look(ctx, s) })
		}
	case "snapshot", "packed":
		var s blosc2.Container
		if s, err = snapshotOf(w.ctx, w.c); err != nil {
			return a, err
		}
		defer s.Close()
		if q.Kind == "packed" {
			z, done, err := packedOf(w.ctx, s, q.Path)
			if err != nil {
				return a, err
			}
			defer done()
			s = z
		}
		err = look(w.ctx, s.(getter))
	default:
		err = look(w.ctx, w.c.(getter))
	}
	return a, err
}

func snapshotOf(ctx context.Context, c blosc2.Container) (blosc2.Container, error) {
	switch c := c.(type) {
	case *blosc2.DictStore:
		return c.Snapshot(ctx)
	case *blosc2.TreeStore:
		return c.Snapshot(ctx)
	}
	return c.(*blosc2.EmbedStore).Snapshot(ctx)
}

// packedOf is a store as a zip in a directory, open.
func packedOf(ctx context.Context, c blosc2.Container, dir string) (blosc2.Container, func(), error) {
	if t, ok := c.(*blosc2.TreeStore); ok {
		c = t.DictStore()
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("%d.b2z", os.Getpid())
	if err := c.(*blosc2.DictStore).ToB2Z(ctx, fs, name, true); err != nil {
		return nil, nil, err
	}
	z, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
	if err != nil {
		return nil, nil, err
	}
	return z, func() {
		z.Close()
		fs.Close()
		os.Remove(filepath.Join(dir, name))
	}, nil
}

// valueUnder is what lies under a key, as far as a survey tells it.
func valueUnder(ctx context.Context, s getter, key string) (int64, error) {
	leaf, err := s.Get(ctx, key)
	if errors.Is(err, fault.ErrNotFound) {
		return absent, nil
	}
	if err != nil {
		return failed, err
	}
	defer leaf.Close()
	b, err := leaf.(*blosc2.NDArray).Slice(ctx, nil, nil)
	if err != nil {
		return failed, err
	}
	if len(b) < 8 || !uniform(b) || len(b) != 8*itemsOf(word(b, 0)) {
		return mixed, nil
	}
	return word(b, 0), nil
}

// verify reports how much of a store is damaged.
func (w *worker) verify() (a report, err error) {
	_, err = blosc2.Verify(w.ctx, w.c, func(d blosc2.Damage) { a.Bad, a.Text = a.Bad+1, fmt.Sprint(d) })
	return a, err
}
