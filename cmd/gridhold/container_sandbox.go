package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// opened is a container that an engine has open, as info, read, verify, ls and
// copy take it.
type opened interface {
	copyable
	describe(ctx context.Context) ([]byte, error)
	list(ctx context.Context) ([]zarr.Entry, error)
	verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error)
	block(sel selection, encoded bool) (*block, string, error)
	Close() error
}

// boxed is a container that the guest has open.
type boxed struct {
	*host.Container
	state host.ContainerState
	under []io.Closer // what it stands on, the last one first to close
}

// openBoxed opens a container of a directory or of a store in the sandbox, and
// what lies under the key in it, if there is one.
func openBoxed(ctx context.Context, g *globals, open func(s *host.Sandbox) (*host.Container, error), under io.Closer) (_ opened, err error) {
	b := &boxed{under: []io.Closer{under}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	s, err := newHost(ctx, g.compileCache)
	if err != nil {
		return nil, err
	}
	b.under = append(b.under, s)
	if b.Container, err = open(s); err != nil {
		return nil, err
	}
	if key := g.leaf(); key != "" {
		leaf, err := b.Get(ctx, key)
		if err != nil {
			return nodeUnder(ctx, b, key, err)
		}
		b.under, b.Container = append(b.under, b.Container), leaf
	}
	b.state, err = b.State(ctx)
	return b, err
}

func openBoxedFile(ctx context.Context, g *globals, dir, name string) (opened, error) {
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	return openBoxed(ctx, g, func(s *host.Sandbox) (*host.Container, error) {
		return s.OpenContainer(ctx, fs, name, host.ContainerOptions{})
	}, fs)
}

func openBoxedObject(ctx context.Context, g *globals, st storage.Store, name string, closer io.Closer) (opened, error) {
	return openBoxed(ctx, g, func(s *host.Sandbox) (*host.Container, error) {
		return s.OpenContainerObject(ctx, st, name)
	}, closer)
}

// at opens what lies under a key.
func (b *boxed) at(ctx context.Context, key string) (opened, error) {
	leaf, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	o := &boxed{Container: leaf}
	if o.state, err = leaf.State(ctx); err != nil {
		return nil, errors.Join(err, leaf.Close())
	}
	return o, nil
}

// Close closes the container, then what it stands on.
func (b *boxed) Close() error {
	var err error
	if b.Container != nil {
		err = b.Container.Close()
	}
	for i := len(b.under) - 1; i >= 0; i-- {
		err = errors.Join(err, b.under[i].Close())
	}
	return err
}

func (b *boxed) describe(ctx context.Context) ([]byte, error) { return b.Describe(ctx) }

func (b *boxed) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	checked, err = b.Verify(ctx, func(d blosc2.Damage) { damaged = append(damaged, zarr.Damage(d)) })
	return checked, damaged, err
}

func (b *boxed) list(ctx context.Context) ([]zarr.Entry, error) {
	if !strings.HasSuffix(b.Kind(), "store") {
		return nil, noKeys(b.Kind())
	}
	keys, err := b.Keys(ctx)
	var entries []zarr.Entry
	for _, key := range keys {
		e := zarr.Entry{Path: key}
		leaf, leafErr := b.Get(ctx, key)
		if leafErr == nil {
			e.Kind = leaf.Kind()
			var st host.ContainerState
			st, leafErr = leaf.State(ctx)
			e.Shape, e.DataType = st.Shape, st.DType
			leafErr = errors.Join(leafErr, leaf.Close())
		}
		entries = append(entries, listed(e, leafErr, b.Kind()))
	}
	return entries, err
}

func (b *boxed) block(sel selection, encoded bool) (*block, string, error) {
	if b.state.TypeSize == 0 {
		return nil, "", noFrame(b.Kind())
	}
	return frameBlock(boxedFrame{b}, sel, encoded)
}

type boxedFrame struct{ b *boxed }

func (f boxedFrame) facts() frameFacts {
	s := &f.b.state
	return frameFacts{
		array: s.Kind == "ndarray", itemSize: s.TypeSize, chunkSize: s.ChunkSize, size: s.Size, chunks: s.NumChunks,
		shape: blosc2.Shape{Shape: s.Shape, Chunks: s.Chunks, Blocks: s.Blocks, DType: s.DType},
	}
}

func (f boxedFrame) slice(ctx context.Context, spans []blosc2.Span) ([]byte, error) {
	return f.b.LittleSlice(ctx, spans, nil)
}

func (f boxedFrame) readBytes(ctx context.Context, off int64, dst []byte) error {
	return f.b.ReadBytes(ctx, off, dst)
}

func (f boxedFrame) chunk(ctx context.Context, i int64) ([]byte, error) {
	return f.b.Chunk(ctx, i, nil)
}

func (f boxedFrame) encodedChunk(ctx context.Context, i int64) ([]byte, error) {
	return f.b.EncodedChunk(ctx, i)
}
