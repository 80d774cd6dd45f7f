package host

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Copy makes a copy under another name and opens it for writing: with the
// chunks, blocks and packing of spec, where it has any, and its Options. See
// [blosc2.NDArray.Copy]. Kind, Data, and of Shape all but Chunks and Blocks,
// are of no concern.
func (c *Container) Copy(ctx context.Context, fs storage.FS, name string, spec ContainerSpec) (*Container, error) {
	if fs == nil || spec.Spec.Fill != nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", "want a file system, and no Fill")
	}
	id := c.sandbox.systems.add(fs)
	free, err := c.sandbox.admit(func() { c.sandbox.systems.remove(id) })
	if err != nil {
		return nil, err
	}
	made := &Container{sandbox: c.sandbox, home: c.home, kind: c.kind, free: free}
	made.recipe = containerRecipe{FS: id, Name: name, Write: true}
	made.lock(spec.Options)
	_, err = c.do(ctx, wire.KindContainerDo, nil, func(in *instance, h uint32) ([]byte, error) {
		req := spec.request(&made.recipe)
		req["do"], req["container"] = "copy", h
		delete(req, "dtype")
		delete(req, "kind")
		return json.Marshal(req)
	}, made)
	if err != nil {
		made.free()
		return nil, err
	}
	return made, nil
}

// Snapshot returns the container as it is now, to be read until it is closed,
// whatever is written meanwhile: see [blosc2.SChunk.Snapshot]. It is gone with
// its guest: ErrClosed. Close it before c.
func (c *Container) Snapshot(ctx context.Context) (*Container, error) {
	if c.closed.Load() {
		return nil, errClosed("container")
	}
	free, err := c.sandbox.admit(func() {})
	if err != nil {
		return nil, err
	}
	s := &Container{sandbox: c.sandbox, parent: c, home: c.home, free: free, held: true, kind: c.kind, timeout: c.timeout}
	_, err = c.do(ctx, wire.KindContainerDo, nil, func(in *instance, h uint32) ([]byte, error) {
		return json.Marshal(deed{Container: h, Do: "snapshot"})
	}, s)
	if err != nil {
		free()
		return nil, err
	}
	return s, nil
}

// Squeeze is [blosc2.NDArray.Squeeze].
func (c *Container) Squeeze(ctx context.Context, axes ...int) error {
	return c.ask(ctx, deed{Do: "squeeze", Axes: axes}, nil)
}

// ExpandAxes is [blosc2.NDArray.ExpandAxes].
func (c *Container) ExpandAxes(ctx context.Context, axes ...int) error {
	return c.ask(ctx, deed{Do: "expand", Axes: axes}, nil)
}

// KeepChecksums is [blosc2.SChunk.KeepChecksums].
func (c *Container) KeepChecksums(ctx context.Context, keep bool) error {
	return c.ask(ctx, deed{Do: "checksums", Keep: keep}, nil)
}

// Repair is [blosc2.SChunk.Repair]; see ContainerOptions for what cannot be
// opened.
func (c *Container) Repair(ctx context.Context) error { return c.ask(ctx, deed{Do: "repair"}, nil) }

// Chunks gives the decoded chunks of a frame, one after the other. It reuses
// their memory.
func (c *Container) Chunks(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		st, err := c.State(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		var chunk []byte
		for i := range st.NumChunks {
			if chunk, err = c.Chunk(ctx, i, chunk); !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}

// watching is how often a watched container is looked at.
const watching = 20 * time.Millisecond

// Watch tells of the state that the container is in, and of each one that it
// is found in from then on, until ctx ends, which is the last error. It looks
// about every 20 ms; meanwhile the sandbox is free for other calls. Other
// errors are those of Refresh, after which it goes on if its reader does.
func (c *Container) Watch(ctx context.Context) iter.Seq2[ContainerState, error] {
	return func(yield func(ContainerState, error) bool) {
		for begun, last := false, uint64(0); ; {
			var st ContainerState
			err := c.ask(ctx, deed{Do: "refresh"}, &st)
			if (err != nil || !begun || st.Tick != last) && !yield(st, err) {
				return
			}
			if err == nil {
				begun, last = true, st.Tick
			}
			if err := (clock.System{}).Sleep(ctx, watching); err != nil {
				yield(st, storage.Ended(ctx, c.recipe.Name))
				return
			}
		}
	}
}
