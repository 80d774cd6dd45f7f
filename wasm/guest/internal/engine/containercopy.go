package engine

import (
	"context"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// another makes a container of one that is there: a copy, or what it is now.
func (e *Engine) another(ctx context.Context, c blosc2.Container, d *deed) (blosc2.Container, error) {
	if d.do == "snapshot" {
		return snapshotOf(ctx, c)
	}
	d.place.o.Write = true
	fs, name, o := e.fileSystem(d.place.fs), d.place.name, e.containerOptions(d.place)
	switch c := c.(type) {
	case *blosc2.NDArray:
		return opened(c.Copy(ctx, fs, name, d.creation.shape, d.creation.spec, o, nil))
	case *blosc2.SChunk:
		return opened(c.Copy(ctx, fs, name, d.creation.spec, o, nil))
	}
	return nil, wrongKind(c, "items: copy what lies under its keys")
}

func snapshotOf(ctx context.Context, c blosc2.Container) (blosc2.Container, error) {
	switch c := c.(type) {
	case *blosc2.NDArray:
		return opened(c.Snapshot(ctx))
	case *blosc2.SChunk:
		return opened(c.Snapshot(ctx))
	case *blosc2.EmbedStore:
		return opened(c.Snapshot(ctx))
	case *blosc2.DictStore:
		return opened(c.Snapshot(ctx))
	case *blosc2.TreeStore:
		return opened(c.Snapshot(ctx))
	}
	return nil, fault.New(fault.ErrInvalid, "container", "snapshot", "a "+c.Kind())
}

// opened keeps a container that there is not from being one that is nil.
func opened[C blosc2.Container](c C, err error) (blosc2.Container, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// reshape takes axes of one item out of an array, or puts some in.
func (d *deed) reshape(ctx context.Context, c blosc2.Container) error {
	a, ok := c.(*blosc2.NDArray)
	switch {
	case !ok:
		return wrongKind(c, "axes")
	case d.do == "squeeze":
		return a.Squeeze(ctx, d.axes...)
	}
	return a.ExpandAxes(ctx, d.axes...)
}
